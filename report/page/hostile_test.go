package page

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const pwn = `window.pwned=1;document.title='pwned'`

// hostile are names and texts that a test can have. SERVER stands for one that notices whoever asks it for something.
var hostile = []string{
	`<script>` + pwn + `</script>`,
	`</script><script>` + pwn + `</script>`,
	`</title></style></textarea></pre></noscript></svg><script>` + pwn + `</script>`,
	`"><img src=x onerror="` + pwn + `">`,
	`'><img src=x onerror='window.pwned=1'>`,
	`" onfocus="` + pwn + `" autofocus tabindex=0 x="`,
	"` onload=" + pwn + " `",
	`javascript:` + pwn,
	" \x01javascript:" + pwn,
	`data:text/html,<script>parent.pwned=1</script>`,
	`//SERVER/x.png`,
	`http://SERVER/x.png`,
	`\\SERVER\x.png`,
	`a/../../../../../../etc/passwd`,
	`../SERVER.png`,
	`shots/"><svg onload=window.pwned=1>.png`,
	`shots/a?b#c%2f..%2f.png`,
	`<img src="http://SERVER/img"><link rel=stylesheet href="http://SERVER/css"><iframe src="http://SERVER/frame"></iframe>`,
	`<meta http-equiv=refresh content="0;url=http://SERVER/away">`,
	`<base href="http://SERVER/">`,
	`{{.Script}} {{template "case"}} <%= 1 %> ${1+1}`,
	`<!-- <script> --> <![CDATA[ ]]> &lt;script&gt; &#60;b&#62;`,
	"user\u202egnp.exe \u2066isolated\u2069 \u200e\u200f\u061c marks \u200bzero\u200d width\ufeff",
	"nul \x00 bell \x07 escape \x1b[2J\x1b]0;title\x07 delete \x7f next \u0085 line \u2028 paragraph \u2029",
	"no UTF-8 \xff\xfe \xc0\x80 \xed\xa0\x80 cut \xe2\x82",
	"\U000e0041\U000e0042 tags, \u3164 filler, \u034f joiner, \u00ad soft",
	"שלום עולם (1) abc",
	"Z\u0351\u036b\u0343\u036a\u0302\u036b\u033d\u034f\u0334\u0319\u0324\u031e\u0349\u035a",
	strings.Repeat("a very long name ", 64<<10), // 1 MiB
	strings.Repeat(`<b>"'&`, 20_000),
}

// everywhere is a page in which each text, of each kind of thing there is, was chosen by somebody hostile.
func everywhere(texts []string) Page {
	p := sample()
	p.Children, p.Failures, p.Flaky, p.Slowest, p.Files, p.Tests = nil, nil, nil, nil, nil, nil
	p.Warnings, p.Withheld, p.Ledger.Notes = texts, texts, texts
	fill(reflect.ValueOf(&p).Elem(), strings.Join(texts[:len(texts)-2], " "))
	for i, text := range texts {
		child := sample().Children[4]
		child.Files = append([]string{"", "", "x/"}, child.Files...)
		c := sample().Failures[1]
		f := FileTime{Tests: 1, Seconds: 1}
		for _, v := range []any{&child, &c, &f} {
			fill(reflect.ValueOf(v).Elem(), text)
		}
		child.Number, child.Of = i+1, len(texts)
		for k := range child.Spans {
			child.Spans[k].Kind = []Kind{Fork, Command, Unit}[min(k, 2)]
		}
		child.Files = append(child.Files, text+".png", "shard-1/"+text+".png")
		c.Attachments = append(c.Attachments, text+".png", "shard-1/"+text+".svg", "shard-1/"+text+".zip")
		p.Children, p.Files = append(p.Children, child), append(p.Files, f)
		p.Failures, p.Flaky, p.Slowest, p.Tests = append(p.Failures, c), append(p.Flaky, c), append(p.Slowest, c), append(p.Tests, c)
	}
	return p
}

// fill sets every text of a value that is not in a list of things of their own.
func fill(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[Page]() || v.Type().PkgPath() == reflect.TypeFor[Page]().PkgPath() {
			for i := range v.NumField() {
				fill(v.Field(i), text)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			if !(v.Type() == reflect.TypeFor[[]string]() && v.Len() == len(hostile)) {
				fill(v.Index(i), text)
			}
		}
	}
}

// inspection is what a probe finds in a page.
type inspection struct {
	Pwned, Title, Text string
	Handlers           []string // attributes that hold a script
	Strange            []string // elements that the page never has
	Links              []string
	Scripts            int
	Ours               bool // the page's own script ran
	Unseen             []string
}

const inspect = `
	await new Promise(done => setTimeout(done, 300)); // a picture that fails calls its handler after the load
	document.querySelectorAll('details').forEach(d => d.open = true);
	document.querySelectorAll('img').forEach(i => i.loading = 'eager');
	for (const i of document.querySelectorAll('img')) await i.decode().catch(() => 0);
	const all = [...document.querySelectorAll('*')], text = document.documentElement.textContent;
	return {
		Pwned: String(window.pwned || document.documentElement.dataset.pwned || ''), Title: document.title,
		Text: document.body.textContent.slice(0, 4e6),
		Handlers: all.flatMap(e => [...e.attributes].filter(a => /^on|^style$|^srcdoc$/i.test(a.name)).map(a => e.tagName + ' ' + a.name)),
		Strange: all.filter(e => e.matches('iframe,object,embed,base,textarea,foreignObject,b:not(header b),link:not([rel=icon]),meta[http-equiv=refresh]')).map(e => e.outerHTML),
		Links: [...new Set(all.flatMap(e => ['href', 'src', 'xlink:href', 'action', 'data'].map(n => e.getAttribute(n)).filter(x => x !== null)))],
		Scripts: document.scripts.length,
		Ours: !document.getElementById('bar').hidden,
		Unseen: text.match(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u034f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff]|\udb40[\udc00-\udc7f]/g) || [],
	};`

func TestHostileTextsStayTexts(t *testing.T) {
	b := newBrowser(t)
	server := strings.TrimPrefix(b.server.URL, "http://")
	texts := make([]string, len(hostile))
	for i, h := range hostile {
		texts[i] = strings.ReplaceAll(h, "SERVER", server)
	}
	var got inspection
	page := render(t, everywhere(texts))
	t.Logf("%d bytes", len(page))
	b.ask(page, inspect, &got)
	if got.Pwned != "" || strings.TrimSpace(got.Title) == "pwned" {
		t.Errorf("a test's script ran: %q, title %.100q", got.Pwned, got.Title)
	}
	if len(got.Handlers) > 0 || len(got.Strange) > 0 || got.Scripts != 2 || !got.Ours {
		t.Errorf("handlers %q, elements %q, %d scripts, ours ran: %v", got.Handlers, got.Strange, got.Scripts, got.Ours)
	}
	if len(got.Unseen) > 0 {
		t.Errorf("characters that nobody sees: %q", got.Unseen)
	}
	for _, l := range got.Links {
		if !strings.HasPrefix(l, "./") && !strings.HasPrefix(l, "#") && l != "data:," {
			t.Errorf("a link to elsewhere: %q", l)
		}
		if slices.Contains(strings.Split(l, "/"), "..") {
			t.Errorf("a link that leaves the folder: %q", l)
		}
	}
	if asked := b.requests(); len(asked) > 0 {
		t.Errorf("the network was asked for %q", asked)
	}
	for _, want := range append(texts[:7:7], "user‹U+202E›gnp.exe ‹U+2066›isolated", "nul ‹U+0000› bell", "no UTF-8 ‹0xFF›‹0xFE›", "bytes cut") {
		if !strings.Contains(got.Text, want) {
			t.Errorf("%q is not in the page as a text", want)
		}
	}
}

// The same texts as markup: the test above would notice if they got through, and the policy stops them even then.
func TestThePolicyStopsWhatGetsThrough(t *testing.T) {
	raw := strings.Replace(render(t, sample()), "</main>", strings.Join(hostile[:6], "")+"</main>", 1)
	var got inspection
	newBrowser(t).ask(raw, inspect, &got)
	if got.Pwned != "" || got.Title == "pwned" || !got.Ours {
		t.Errorf("the policy let a script run, or not ours: %q, %q, %v", got.Pwned, got.Title, got.Ours)
	}
	if len(got.Handlers) == 0 || got.Scripts < 4 {
		t.Errorf("the probe does not see markup: handlers %q, %d scripts", got.Handlers, got.Scripts)
	}
	open := strings.Replace(raw, `<meta http-equiv="Content-Security-Policy"`, `<meta name="x"`, 1)
	newBrowser(t).ask(open, inspect, &got)
	if got.Pwned != "1" || got.Title != "pwned" {
		t.Errorf("without the policy the texts are harmless, so this test shows nothing: %q, %q", got.Pwned, got.Title)
	}
}

func TestVisible(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                    "",
		"plain <b>":           "plain <b>",
		"größer ✓ 日本 שלום":    "größer ✓ 日本 שלום",
		"a\u202eb":            "a‹U+202E›b",
		"a\x00\x1b\x7f":       "a‹U+0000›‹U+001B›‹U+007F›",
		"two\nlines\tand tab": "two‹U+000A›lines‹U+0009›and tab",
		"\xff\xfea":           "‹0xFF›‹0xFE›a",
		"\ufffd":              "\ufffd",
		"❤️":                  "❤️",
		"\U000e0001":          "‹U+E0001›",
	} {
		if got := visible(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := visibleLines("a\r\n\tb\rc\u2067"); got != "a\n\tb‹U+000D›c‹U+2067›" {
		t.Errorf("lines: %q", got)
	}
}

func TestHref(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                         "",
		"shard-1.log":              "./shard-1.log",
		"shard-1/a b/c?d#e%41.png": "./shard-1/a%20b/c%3Fd%23e%2541.png",
		"javascript:alert(1)":      "./javascript:alert%281%29",
		"/etc/passwd":              "",
		"//host/x":                 "",
		"a/../../b":                "",
		`a\..\b`:                   `./a%5C..%5Cb`,
		"a\"'<>\x00":               "./a%22%27%3C%3E%00",
	} {
		if got := href(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestClip(t *testing.T) {
	t.Parallel()
	long := "start" + strings.Repeat("ü", 1000) + "end"
	got := clip(long, 99)
	if !strings.HasPrefix(got, "start") || !strings.HasSuffix(got, "end") || !strings.Contains(got, "bytes cut") || len(got) > 140 || strings.Contains(got, "\ufffd") {
		t.Errorf("%q", got)
	}
	if got := clip("short", 5); got != "short" {
		t.Errorf("%q", got)
	}
}

// A thousand failures with all that they may hold still make a page that a browser takes in.
func TestTextsHaveABudget(t *testing.T) {
	t.Parallel()
	p := sample()
	p.Failures = nil
	for i := range 1000 {
		p.Failures = append(p.Failures, Case{Shard: 1, Name: fmt.Sprint("case ", i), State: "failed", Message: strings.Repeat("m<", 8<<10), Out: strings.Repeat("o", 1<<20)})
	}
	got := render(t, p)
	if n := len(got); n > 3*maxTexts || n < maxTexts {
		t.Errorf("%d bytes", n)
	}
	if n := strings.Count(got, `id="failure-`); n != 1000 {
		t.Errorf("%d failures", n)
	}
	if !strings.Contains(got, "bytes left out") {
		t.Error("what was left out is not told")
	}
}
