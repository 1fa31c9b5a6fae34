package screen

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/boxer-ci/boxer/report/ci"
)

// lined is what people see of a stream that comes in these pieces.
func lined(prefix string, pieces ...string) string {
	var out bytes.Buffer
	l := Liner{Prefix: prefix, Emit: func(b []byte) { out.Write(b) }}
	for _, p := range pieces {
		l.Write([]byte(p))
	}
	l.Flush()
	return out.String()
}

var hostile = []struct{ name, in, out string }{
	{"nothing", "", ""},
	{"lines", "a\nb\n", "> a\n> b\n"},
	{"no end", "a\nb", "> a\n> b\n"},
	{"an empty line", "a\n\nb\n", "> a\n> \n> b\n"},
	{"Windows", "a\r\nb\r\n\r\nc\r\n", "> a\n> b\n> \n> c\n"},
	{"a progress bar", "10%\r20%\r100%\n", "> 10%\n> 20%\n> 100%\n"},
	{"a command behind a carriage return", "x\r::error::y\n", "> x\n> ::error::y\n"},
	{"two carriage returns", "a\r\r\nb\n", "> a\n> b\n"},
	{"colours stay and end with the line", "\x1b[31mred\nplain\n", "> \x1b[31mred\x1b[0m\n> plain\n"},
	{"cursor moves", "\x1b[2J\x1b[1;1Hgone\x1b[K\n", "> gone\n"},
	{"private modes", "\x1b[?1049h\x1b[?25lx\n", "> x\n"},
	{"a title", "\x1b]0;owned\x07x\x1b]2;y\x1b\\z\n", "> xz\n"},
	{"a link and the clipboard", "\x1b]8;;http://e\x1b\\text\x1b]8;;\x1b\\ \x1b]52;c;aGk=\x07\n", "> text \n"},
	{"a device string", "\x1bPq#0\x1b\\x\n", "> x\n"},
	{"an open sequence", "x\x1b]0;never ends\ny\n", "> x\n> y\n"},
	{"a reset of the terminal", "\x1bcx\x1b(0y\n", "> xy\n"},
	{"a lone escape", "x\x1b\n", "> x\\x1b\n"},
	{"one-byte sequences of the upper half", "\u009b2Jx\n", "> \\u009b2Jx\n"},
	{"bytes that are no UTF-8", "a\xff\x9bb\n", "> a\\xff\\x9bb\n"},
	{"controls", "a\x00b\x07c\x08d\x7f\te\n", "> a\\x00b\\x07c\\x08d\\x7f\te\n"},
	{"marks of direction", "a\u202eb\u2066c\n", "> a\\u202eb\\u2066c\n"},
	{"other ends of lines", "a\u2028::error::b\u0085c\n", "> a\\u2028::error::b\\u0085c\n"},
	{"text of the world", "grün 日本 😀\n", "> grün 日本 😀\n"},
	{"GitHub's old commands", "x ##[error]y ###[z\n", "> x # #[error]y ## #[z\n"},
	{"GitHub's old commands behind a sequence", "#\x1b[2K#[error]y\n", "> # #[error]y\n"},
	{"Azure's commands", "##vso[task.complete]x\n", "> # #vso[task.complete]x\n"},
}

func TestLiner(t *testing.T) {
	t.Parallel()
	for _, tt := range hostile {
		t.Run(tt.name, func(t *testing.T) {
			if got := lined("> ", tt.in); got != tt.out {
				t.Errorf("got %q\nwant %q", got, tt.out)
			}
		})
	}
}

func TestLinerDoesNotCareHowTheBytesCome(t *testing.T) {
	t.Parallel()
	for _, tt := range hostile {
		for i := range tt.in {
			if got := lined("> ", tt.in[:i], tt.in[i:]); got != tt.out {
				t.Errorf("%s, cut at %d: got %q, want %q", tt.name, i, got, tt.out)
			}
		}
		if got := lined("> ", strings.Split(tt.in, "")...); got != tt.out {
			t.Errorf("%s, by character: got %q, want %q", tt.name, got, tt.out)
		}
	}
}

func TestLinerShowsLongLinesInPieces(t *testing.T) {
	t.Parallel()
	l := Liner{Prefix: "[1/1] "}
	var lines []string
	l.Emit = func(b []byte) {
		if len(b) > 2*maxLine+100 {
			t.Errorf("%d bytes at once", len(b))
		}
		lines = append(lines, strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")...)
	}
	long := strings.Repeat("é", 100_000) // its 64 KiB end within a character
	for chunk := []byte("x" + long + "\nend\n"); len(chunk) > 0; {
		n := min(len(chunk), 4096)
		l.Write(chunk[:n])
		chunk = chunk[n:]
		if len(l.open) > maxLine {
			t.Fatalf("the line in memory has %d bytes", len(l.open))
		}
	}
	l.Flush()
	if len(lines) != 5 || lines[4] != "[1/1] end" {
		t.Errorf("%d lines, the last one %q", len(lines), lines[len(lines)-1])
	}
	text := ""
	for _, line := range lines[:4] {
		rest, ok := strings.CutPrefix(line, "[1/1] ")
		if !ok {
			t.Errorf("a piece without a prefix: %.20q", line)
		}
		text += rest
	}
	if text != "x"+long {
		t.Error("the pieces are not the line")
	}
}

// What may leave the liner: printable text, tabs, colours.
var tame = regexp.MustCompile(`^(?:> (?:[^\x00-\x08\x0a-\x1f\x7f]|\x1b\[[0-9;:]*m)*\n)*$`)

func TestLinerIsHarmlessWhateverComes(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	parts := []string{"\x1b", "[", "]", "0", ";", "m", "K", "\x07", "\\", "\r", "\n", "#", "##[", "vso[", "::", "a", "é", "\xff", "\u009b", "\u202e", "P", "\x00"}
	for range 20_000 {
		var in string
		for range r.IntN(12) {
			in += parts[r.IntN(len(parts))]
		}
		out := lined("> ", in)
		if !tame.MatchString(out) || !utf8.ValidString(out) || strings.Contains(out, "##[") || strings.Contains(out, "##vso[") {
			t.Fatalf("seed %d: %q became %q", seed, in, out)
		}
	}
}

func TestLiveScreen(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := New(Config{Count: 2, Out: &out, Width: 30, Live: true, First: 3, Total: 4}).(*liveScreen)
	s.State(3, "running")
	s.Lines(3).Write([]byte("first\n\x1b[31mok\x1b[0m 1\tx 日本日本日本日本日本\n"))
	s.State(4, "running")
	s.State(4, "failed")
	now := s.shards[0].since
	drawn := string(s.draw(now))
	if want := "[3/4] running 0.0 s  ok 1 x …\n[4/4] failed 0.0 s\n"; drawn != want {
		t.Errorf("got %q\nwant %q", drawn, want)
	}
	if again := string(s.draw(now)); again != "\x1b[2A\r\x1b[J"+drawn {
		t.Errorf("not rewritten in place: %q", again)
	}
	s.Open()
	s.Close(nil, func(w io.Writer) { fmt.Fprint(w, "the end\n") })
	if got := out.String(); !strings.HasSuffix(got, "\x1b[2A\r\x1b[Jthe end\n") {
		t.Errorf("%q", got)
	}
}

// A colour is no column: a line is cut first and painted then, and one that lost its state is not painted.
func TestLiveScreenInColour(t *testing.T) {
	t.Parallel()
	s := New(Config{Count: 1, Out: io.Discard, Width: 20, Live: true, Colour: true, First: 1, Total: 1}).(*liveScreen)
	s.State(1, "running")
	s.State(1, "failed")
	if got, want := s.line(0, s.shards[0].since), "[1/1] \x1b[31mfailed\x1b[0m 0.0 s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	s.width = 10
	if got, want := s.line(0, s.shards[0].since), "[1/1] fa…"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestLimitOfALog(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := New(Config{Count: 2, Out: &out, CI: ci.GitLab, First: 1, Total: 2, Folder: "boxer-report"})
	s.Open()
	one, two := s.Lines(1), s.Lines(2)
	line := []byte(strings.Repeat("x", 1023) + "\n")
	for range ci.JobLogLimit >> 10 {
		one.Write(line)
		two.Write(line)
	}
	s.Close(func() []Block { return []Block{{Name: "shard_1", Title: "t", Lines: []string{"| last"}}} }, func(w io.Writer) { fmt.Fprint(w, "the end\n") })
	got := out.String()
	if n := strings.Count(got, "... this log takes no more than 3 MiB of output: all of it is in boxer-report\n"); n != 1 {
		t.Errorf("the end of the log is told %d times", n)
	}
	if len(got) > ci.JobLogLimit+1000 || len(got) < ci.JobLogLimit-2000 || !strings.HasSuffix(got, "the end\n") || !strings.Contains(got, "| last\n") {
		t.Errorf("%d bytes that end with %q", len(got), got[len(got)-20:])
	}
}
