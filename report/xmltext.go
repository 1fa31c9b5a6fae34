package report

// xmlText is XML that is being written, of clean texts.
type xmlText []byte

type attr struct{ name, value string }

// tag leaves out what is empty, but for what consumers insist on. It gives where the inside of the element begins.
func (x *xmlText) tag(name string, attrs ...attr) int {
	b := append(append(*x, '<'), name...)
	for _, a := range attrs {
		if a.value == "" && a.name != "name" && a.name != "classname" && a.name != "value" {
			continue
		}
		b = append(append(append(b, ' '), a.name...), `="`...)
		b = append(escape(b, a.value, true), '"')
	}
	*x = append(b, '>')
	return len(*x)
}

// endOf ends an element whose inside began there. One without any becomes a single tag.
func (x *xmlText) endOf(name string, inside int) {
	if len(*x) > inside {
		x.end(name)
		return
	}
	*x = append((*x)[:inside-1], "/>"...)
}

func (x *xmlText) end(name string) {
	*x = append(append(append(*x, "</"...), name...), '>')
}

// element writes nothing for an empty text.
func (x *xmlText) element(name, text string) {
	if text != "" {
		x.tag(name)
		x.text(text)
		x.end(name)
	}
}

func (x *xmlText) text(s string) { *x = escape(*x, s, false) }

func (x *xmlText) raw(s string) { *x = append(*x, s...) }

// escape writes clean text so that every reader gets back the same: without CDATA, and with the line ends of an
// attribute as references, since a reader would make spaces of them.
func escape(to []byte, s string, attribute bool) []byte {
	from := 0
	for i := range len(s) {
		if s[i] > '>' {
			continue
		}
		if by := escaped(s[i], attribute); by != "" {
			to = append(append(to, s[from:i]...), by...)
			from = i + 1
		}
	}
	return append(to, s[from:]...)
}

// escaped is empty for what stands as it is.
func escaped(c byte, attribute bool) string {
	switch c {
	case '&':
		return "&amp;"
	case '<':
		return "&lt;"
	case '>':
		return "&gt;"
	case '\r':
		return "&#xD;"
	}
	if !attribute {
		return ""
	}
	switch c {
	case '"':
		return "&#34;"
	case '\n':
		return "&#xA;"
	case '\t':
		return "&#x9;"
	}
	return ""
}
