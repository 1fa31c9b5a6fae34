package report

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"regexp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// charset reads the next character of a file that is not UTF-8. A nil charset is UTF-8: its bytes pass through as
// they are, bad ones too, because a name shall show which bad byte it had.
type charset func(*bufio.Reader) (rune, error)

// The table is short and fixed, so it stands here: the standard library has none of these.
var (
	latin9  = map[byte]rune{0xA4: '€', 0xA6: 'Š', 0xA8: 'š', 0xB4: 'Ž', 0xB8: 'ž', 0xBC: 'Œ', 0xBD: 'œ', 0xBE: 'Ÿ'}
	windows = map[byte]rune{
		0x80: '€', 0x82: '‚', 0x83: 'ƒ', 0x84: '„', 0x85: '…', 0x86: '†', 0x87: '‡', 0x88: 'ˆ', 0x89: '‰', 0x8A: 'Š',
		0x8B: '‹', 0x8C: 'Œ', 0x8E: 'Ž', 0x91: '‘', 0x92: '’', 0x93: '“', 0x94: '”', 0x95: '•', 0x96: '–', 0x97: '—',
		0x98: '˜', 0x99: '™', 0x9A: 'š', 0x9B: '›', 0x9C: 'œ', 0x9E: 'ž', 0x9F: 'Ÿ',
	}
	declaration = regexp.MustCompile(`<\?xml[^>]*?\sencoding\s*=\s*["']([^"'>]*)["']`)
)

// detectCharset believes a byte order mark first, then the bytes themselves, and the declaration last.
func detectCharset(f *os.File) (charset, error) {
	head := make([]byte, 4096)
	n, err := io.ReadFull(f, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, err
	}
	head = head[:n]
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		return nil, nil
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("<\x00")):
		return utf16Reader(1, 0), nil
	case bytes.HasPrefix(head, []byte("\xfe\xff")), bytes.HasPrefix(head, []byte("\x00<")):
		return utf16Reader(0, 1), nil
	}
	found := declaration.FindSubmatchIndex(head)
	if found == nil {
		return nil, nil
	}
	return declared(f, string(head[found[2]:found[3]]), 1+bytes.Count(head[:found[2]], []byte("\n")))
}

func declared(f *os.File, name string, line int) (charset, error) {
	var table map[byte]rune
	switch strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "_", "-") {
	case "utf-8", "utf8", "us-ascii", "ascii", "":
		return nil, nil
	case "utf-16", "utf16", "utf-16le", "utf-16be", "ucs-2", "iso-10646-ucs-2":
		return nil, nil // that this could be read shows that it is not true
	case "iso-8859-1", "iso8859-1", "latin1", "latin-1":
	case "iso-8859-15", "iso8859-15", "latin9", "latin-9":
		table = latin9
	case "windows-1252", "cp1252":
		table = windows
	default:
		return nil, refuse(Encoding, line, "the encoding %q is none of UTF-8, UTF-16, ISO-8859-1, ISO-8859-15, windows-1252", name)
	}
	if utf8File, err := isUTF8(f); utf8File || err != nil {
		return nil, err
	}
	return singleByte(table), nil
}

// isUTF8 says whether the whole file is valid UTF-8: text in a one-byte encoding hardly ever is.
func isUTF8(f *os.File) (bool, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return false, err
	}
	r := bufio.NewReaderSize(f, 64<<10)
	for {
		c, n, err := r.ReadRune()
		if err == io.EOF {
			return true, nil
		}
		if err != nil || c == utf8.RuneError && n == 1 {
			return false, err
		}
	}
}

func singleByte(table map[byte]rune) charset {
	return func(r *bufio.Reader) (rune, error) {
		b, err := r.ReadByte()
		if c, ok := table[b]; ok {
			return c, err
		}
		return rune(b), err
	}
}

// utf16Reader is told where in each pair of bytes the high and the low one stand.
func utf16Reader(high, low int) charset {
	unit := func(p []byte) rune { return rune(p[high])<<8 | rune(p[low]) }
	return func(r *bufio.Reader) (rune, error) {
		p, err := r.Peek(4)
		if len(p) < 2 {
			return 0, err // half a character at the end of a file is nothing that anyone meant
		}
		c := unit(p)
		if len(p) == 4 && utf16.IsSurrogate(c) {
			if pair := utf16.DecodeRune(c, unit(p[2:])); pair != utf8.RuneError {
				r.Discard(4)
				return pair, nil
			}
		}
		r.Discard(2)
		return c, nil
	}
}

// transcoder gives as UTF-8 what a charset reads.
type transcoder struct {
	next charset
	in   *bufio.Reader
	out  []byte
}

func (t *transcoder) Read(p []byte) (int, error) {
	var err error
	for len(t.out) < len(p) && err == nil {
		var c rune
		if c, err = t.next(t.in); err == nil {
			t.out = appendRune(t.out, c)
		}
	}
	n := copy(p, t.out)
	t.out = append(t.out[:0], t.out[n:]...)
	if n > 0 {
		err = nil
	}
	return n, err
}

func (c charset) reader(f io.Reader) io.Reader {
	if c == nil {
		return f
	}
	return &transcoder{next: c, in: bufio.NewReaderSize(f, 64<<10)}
}
