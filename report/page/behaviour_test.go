package page

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// big is a run of that many tests in four shards.
func big(tests int) Page {
	p := sample()
	p.Children, p.Tests, p.Slowest, p.Files = p.Children[:4], nil, nil, nil
	for i := range tests {
		c := Case{
			Shard: 1 + i*4/tests, Suite: fmt.Sprintf("harbour.dock%d", i/10), Class: fmt.Sprintf("harbour.dock%d", i/10),
			Name: fmt.Sprintf("moors ship %d at the pier", i), State: Passed, Seconds: float64(i%97) / 1000,
		}
		switch {
		case i%100 == 7:
			c.State, c.Message, c.Body = "failed", "line slipped", strings.Repeat("    at Dock.moor (dock.js:31:7)\n", 40)
			p.Failures = append(p.Failures, c)
		case i%100 == 8:
			c.State = Skipped
		}
		p.Tests = append(p.Tests, c)
		if i < 100 {
			p.Slowest = append(p.Slowest, c)
			p.Files = append(p.Files, FileTime{fmt.Sprintf("test/dock%d.test.js", i), 10, 3})
		}
	}
	p.Totals = Totals{Tests: tests, Passed: tests - tests/50, Failures: tests / 100, Skipped: tests / 100}
	p.Unlisted = 0
	return p
}

const opened = `
	await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
	const paint = performance.now(), load = performance.getEntriesByType('navigation')[0].loadEventStart;`

// The time it takes is logged and not checked: it is the machine's as much as the page's. Beside it stands that of a
// page of a hundred tests at the same time.
func TestTenThousandTests(t *testing.T) {
	page := render(t, big(10_000))
	var got struct {
		Lines, Failures, Elements int
		Load, Paint, Filter, Open float64
		Hits                      string
		Shown                     int
	}
	var small struct{ Load, Paint float64 }
	newBrowser(t).askWarm(render(t, big(100)), opened+`return {Load: load, Paint: paint};`, &small)
	t.Logf("100 tests: load event after %.0f ms, first frame after %.0f ms", small.Load, small.Paint)
	newBrowser(t).askWarm(page, opened+`
		const box = document.getElementById('filter'), form = document.getElementById('bar');
		let t = performance.now();
		box.value = 'dock77 ship';
		form.requestSubmit();
		document.body.offsetHeight;
		const filter = performance.now() - t;
		const shown = [...document.querySelectorAll('.tests li')].filter(li => li.checkVisibility()).length;
		const hits = document.getElementById('found').textContent;
		box.value = '';
		form.requestSubmit();
		t = performance.now();
		document.querySelectorAll('.group').forEach(g => g.open = true);
		document.body.offsetHeight;
		return {
			Lines: document.querySelectorAll('.tests li').length, Failures: document.querySelectorAll('#failures .case').length,
			Elements: document.querySelectorAll('*').length, Load: load, Paint: paint, Filter: filter, Hits: hits, Shown: shown,
			Open: performance.now() - t,
		};`, &got)
	t.Logf("10,000 tests, %d KiB, %d elements: load event after %.0f ms, first frame after %.0f ms; filter %.0f ms; all lists opened %.0f ms",
		len(page)>>10, got.Elements, got.Load, got.Paint, got.Filter, got.Open)
	if got.Lines != 10_000 || got.Failures != 102 {
		t.Errorf("%d lines, %d failures", got.Lines, got.Failures)
	}
	// dock77 and dock770 to dock779: 110 tests, two of them failed and listed as such; one is among the slowest.
	if got.Shown != 110 || !strings.HasSuffix(got.Hits, " matches") {
		t.Errorf("the filter shows %d lines and says %q", got.Shown, got.Hits)
	}
}

func BenchmarkRender(b *testing.B) {
	p := big(10_000)
	b.ReportMetric(float64(len(render(b, p))), "bytes")
	for b.Loop() {
		render(b, p)
	}
}

// Pictures lie beside the page and are shown under its policy, from disk and from a server; pictures from elsewhere and
// everything else are not asked for.
func TestPicturesAreShown(t *testing.T) {
	for _, served := range []bool{false, true} {
		b := newBrowser(t)
		putPicture(t, filepath.Join(b.dir, "shard-4/out/cart.png"))
		var got struct{ Width, Height int }
		ask := b.ask
		if served {
			ask = b.askServed
		}
		ask(render(t, sample()), `
			const i = document.querySelector('#failures img');
			i.loading = 'eager';
			await i.decode();
			return {Width: i.naturalWidth, Height: i.naturalHeight};`, &got)
		if got.Width != 32 || got.Height != 20 {
			t.Errorf("served %v: the picture is %d by %d", served, got.Width, got.Height)
		}
		for _, asked := range b.requests() {
			if asked != "/" && asked != "/shard-4/out/cart.png" {
				t.Errorf("%s was asked for", asked)
			}
		}
	}
}

func putPicture(t *testing.T, path string) {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, 32, 20))
	m.Set(3, 3, color.White)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err == nil {
		err = png.Encode(f, m)
	}
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

func TestKeysAndFilter(t *testing.T) {
	var got struct{ Said []string }
	newBrowser(t).ask(render(t, sample()), `
		const said = [], note = x => said.push(String(x)), at = id => document.getElementById(id);
		const key = k => document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: k, bubbles: true, cancelable: true}));
		const items = () => document.querySelectorAll('[data-item]:not([hidden]), .tests li:not([hidden])').length;
		const whole = items();
		const filter = text => { at('filter').value = text; at('bar').requestSubmit(); };
		key('n');
		note(document.activeElement.closest('.case').id);
		key('n');
		note(document.activeElement.closest('.case').id);
		key('p');
		note(document.activeElement.closest('.case').id);
		at('failure-1').open = false;
		key('o');
		note([...document.querySelectorAll('.case')].every(c => c.open));
		key('o');
		note([...document.querySelectorAll('.case')].some(c => c.open));
		key('/');
		note(document.activeElement.id);
		key('n'); // is a letter there
		note(document.activeElement.id);
		filter('ADDS  cart');
		note(at('found').textContent + ', ' + at('failure-1').hidden + at('failure-2').hidden + ' ' + items());
		note([...document.querySelectorAll('.group')].map(g => g.open));
		filter('skipped');
		const line = document.querySelector('.tests li:not([hidden])');
		note(items() + ' ' + line.textContent.trim() + ' ' + (line.getBoundingClientRect().left > 0));
		filter('no such thing');
		note(at('found').textContent);
		key('Escape');
		note(at('filter').value + at('found').textContent + (items() === whole) + [...document.querySelectorAll('.group')].map(g => g.open));
		at('single').checked = false;
		key('/');
		note(document.activeElement === at('filter'));
		const order = [...document.querySelectorAll('a,input,button,summary,[tabindex="0"]')];
		note(order[0].className + ' ' + order.every(e => e.tabIndex === 0) + ' ' + order.some(e => e.matches('.picture')));
		return {Said: said};`, &got)
	want := []string{
		"failure-1", "failure-2", "failure-1", "true", "false", "filter", "filter", "2 matches, truefalse 2", "false,true",
		"1 cart › ships abroad true", "0 matches", "truefalse,false", "false", "jump true true",
	}
	if strings.Join(got.Said, "\n") != strings.Join(want, "\n") {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got.Said, "\n"), strings.Join(want, "\n"))
	}
}

// Where scripts are off nothing is out of reach; the filter, which would do nothing, is not there.
func TestWithoutScript(t *testing.T) {
	t.Parallel()
	page := strings.ReplaceAll(render(t, sample()), script, "")
	if n := strings.Count(page, " hidden"); n != 1 || !strings.Contains(page, `<form id="bar" role="search" hidden>`) {
		t.Errorf("%d elements are hidden until a script shows them", n)
	}
}

func TestColoursCanBeRead(t *testing.T) {
	t.Parallel()
	light, dark, found := strings.Cut(style, "@media (prefers-color-scheme:dark)")
	if !found {
		t.Fatal("no dark colours")
	}
	for scheme, css := range map[string]string{"light": light, "dark": dark[:strings.Index(dark, "}}")]} {
		c := map[string]color.RGBA{}
		for _, m := range regexp.MustCompile(`--([a-z-]+):#([0-9a-f]{3,6})\b`).FindAllStringSubmatch(css, -1) {
			c[m[1]] = parseColour(t, m[2])
		}
		for _, text := range []string{"fg", "soft", "link", "ok", "bad", "warn", "skip"} {
			for _, ground := range []string{"bg", "box"} {
				if r := contrast(c[text], c[ground]); r < 4.5 {
					t.Errorf("%s: %s on %s has a contrast of %.1f", scheme, text, ground, r)
				}
			}
		}
		for _, bar := range []string{"ok-bar", "bad-bar", "warn-bar", "setup-bar", "fork-bar"} {
			if r := contrast(color.RGBA{255, 255, 255, 255}, c[bar]); r < 4.5 {
				t.Errorf("%s: white on %s has a contrast of %.1f", scheme, bar, r)
			}
			if r := contrast(c[bar], c["bg"]); r < 3 {
				t.Errorf("%s: %s on the page has a contrast of %.1f", scheme, bar, r)
			}
		}
	}
}

func parseColour(t *testing.T, hex string) color.RGBA {
	t.Helper()
	if len(hex) == 3 {
		hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
	}
	n, err := strconv.ParseUint(hex, 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	return color.RGBA{byte(n >> 16), byte(n >> 8), byte(n), 255}
}

// contrast is that of WCAG 2.
func contrast(a, b color.RGBA) float64 {
	light, dark := max(luminance(a), luminance(b)), min(luminance(a), luminance(b))
	return (light + 0.05) / (dark + 0.05)
}

func luminance(c color.RGBA) float64 {
	linear := func(b byte) float64 {
		v := float64(b) / 255
		if v <= 0.03928 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
}

func TestTicks(t *testing.T) {
	t.Parallel()
	for end, want := range map[time.Duration]string{
		time.Millisecond:         "0 s",
		900 * time.Millisecond:   "0 s, 0.1 s, 0.2 s, 0.3 s, 0.4 s, 0.5 s, 0.6 s, 0.7 s, 0.8 s, 0.9 s",
		18 * time.Second:         "0 s, 2 s, 4 s, 6 s, 8 s, 10 s, 12 s, 14 s, 16 s, 18 s",
		90 * time.Second:         "0 s, 10 s, 20 s, 30 s, 40 s, 50 s, 1m, 1m10s, 1m20s, 1m30s",
		95 * time.Minute:         "0 s, 10m, 20m, 30m, 40m, 50m, 1h, 1h10m, 1h20m, 1h30m",
		90 * 24 * 24 * time.Hour: "",
	} {
		all := ticks(end)
		var words []string
		for _, at := range all {
			words = append(words, tickLabel(at))
		}
		if got := strings.Join(words, ", "); want != "" && got != want || len(all) > maxTicks {
			t.Errorf("%s: %s", end, got)
		}
	}
}

func TestBarsStandWhereTheTimeSays(t *testing.T) {
	t.Parallel()
	p := Page{Setup: 10 * time.Second, Wall: 90 * time.Second, Children: []Child{
		{Number: 1, Of: 2, Spans: []Span{
			{Kind: Unit, Label: "a", Start: 30 * time.Second, End: 40 * time.Second, State: Passed},
			{Kind: Fork, Start: 10 * time.Second, End: 20 * time.Second},
			{Kind: Command, Start: 20 * time.Second, End: 60 * time.Second, State: Passed},
			{Kind: Command, Start: 60 * time.Second, End: 60 * time.Second, State: "failed", Attempt: 2},
		}},
		{Number: 2, Of: 2, State: "lost"},
	}}
	tl := newTimeline(p)
	at := func(s float64) float64 { return plotLeft + (plotRight-plotLeft)*s/100 }
	var got []string
	for _, r := range tl.Rows {
		line := r.Label
		for _, b := range r.Bars {
			line += fmt.Sprintf(" | %s %.0f-%.0f %s%s", b.Class, b.X, b.Right(), b.Text, b.Mark)
		}
		if r.Idle != nil {
			line += fmt.Sprintf(" | idle %.0f-%.0f", r.Idle.X, r.Idle.Right())
		}
		got = append(got, line+r.Note)
	}
	want := []string{
		fmt.Sprintf("setup | setup %.0f-%.0f setup 10.0 s", at(0), at(10)),
		fmt.Sprintf("1/2 | fork %.0f-%.0f fork | command ok %.0f-%.0f ✓ passed 40.0 s | command bad %.0f-%.0f ✗ failed 0.0 s↻2 | unit ok %.0f-%.0f  | idle %.0f-%.0f",
			at(10), at(20), at(20), at(60), at(60), at(60)+minBar, at(30), at(40)-0.7, at(60)+minBar+5+textWidth("✗ failed 0.0 s"), at(100)),
		"2/2lost",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for i, r := range tl.Rows {
		if r.Y != topMargin+i*rowHeight || r.Y+rowHeight > tl.Bottom {
			t.Errorf("row %d at %d of %d", i, r.Y, tl.Bottom)
		}
	}
}

// More units than the picture has room for are counted instead, and none of a child is drawn then.
func TestTooManyUnits(t *testing.T) {
	t.Parallel()
	p := Page{Wall: time.Minute}
	for n := range 3 {
		c := Child{Number: n + 1, Of: 3, Spans: []Span{{Kind: Command, End: time.Minute, State: Passed}}}
		for i := range maxSpans / 2 {
			c.Spans = append(c.Spans, Span{Kind: Unit, Start: time.Duration(i), End: time.Duration(i + 1), State: Passed})
		}
		p.Children = append(p.Children, c)
	}
	tl := newTimeline(p)
	if tl.Undrawn != maxSpans/2 || len(tl.Rows[3].Bars) != 1 || len(tl.Rows[2].Bars) != 1+maxSpans/2 {
		t.Errorf("%d undrawn, %d bars", tl.Undrawn, len(tl.Rows[3].Bars))
	}
}
