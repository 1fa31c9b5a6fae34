package report

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// clip collects text, but holds only the head and the tail of a long one. The start of an output says what ran and
// its end says why it failed, so the middle goes.
type clip struct {
	limit int
	name  bool // a cut name gets a hash of what was cut, so that two names stay two
	buf   []byte
	cut   int64
	sum   uint64
}

func (c *clip) write(p []byte) {
	c.buf = append(c.buf, p...)
	if len(c.buf) > 2*c.limit {
		c.squeeze()
	}
}

// newline parts two texts that are kept as one.
func (c *clip) newline() {
	if len(c.buf) > 0 {
		c.buf = append(c.buf, '\n')
	}
}

func (c *clip) half() int { return (c.limit - cutMarkReserved) / 2 }

func (c *clip) squeeze() {
	from, to := c.half(), len(c.buf)-c.half()
	c.drop(c.buf[from:to])
	c.buf = append(c.buf[:from], c.buf[to:]...)
}

// hash goes on with FNV-1a, byte by byte: the sum must not depend on the pieces in which a name was read.
func (c *clip) hash(p []byte) {
	const offset, prime = 14695981039346656037, 1099511628211
	if c.sum == 0 {
		c.sum = offset
	}
	for _, b := range p {
		c.sum = (c.sum ^ uint64(b)) * prime
	}
}

// text gives what is left, cleaned and within the limit, which cleaning can overstep.
func (c *clip) text(clean func(string) string) string {
	if len(c.buf) > c.limit || c.cut > 0 {
		c.squeeze()
	}
	if c.cut == 0 {
		return shorten(clean(string(c.buf)), c.limit, c.name)
	}
	head := clean(string(trimTail(c.buf[:c.half()])))
	tail := clean(string(trimHead(c.buf[c.half():])))
	if over := len(head) - c.half(); over > 0 {
		c.drop([]byte(head[c.half():]))
		head = string(trimTail([]byte(head[:c.half()])))
	}
	if over := len(tail) - c.half(); over > 0 {
		c.drop([]byte(tail[:over]))
		tail = string(trimHead([]byte(tail[over:])))
	}
	return head + c.mark() + tail
}

// appendRaw appends what text gives, without cleaning.
func (c *clip) appendRaw(to []byte) []byte {
	if c.cut == 0 && len(c.buf) <= c.limit {
		return append(to, c.buf...)
	}
	return append(to, c.text(strings.Clone)...)
}

func (c *clip) drop(p []byte) {
	c.cut += int64(len(p))
	if c.name {
		c.hash(p)
	}
}

func (c *clip) mark() string {
	if c.name {
		return fmt.Sprintf("[... %d bytes cut, %016x ...]", c.cut, c.sum)
	}
	return fmt.Sprintf("\n[... %d bytes cut ...]\n", c.cut)
}

// shorten cuts a clean text to the limit, a name or any other.
func shorten(s string, limit int, name bool) string {
	if len(s) <= limit {
		return s
	}
	c := clip{limit: limit, name: name}
	c.write([]byte(s))
	return c.text(strings.Clone)
}

// trimTail drops a character that the cut left incomplete at the end.
func trimTail(p []byte) []byte {
	for i := 1; i <= min(utf8.UTFMax-1, len(p)); i++ {
		if b := p[len(p)-i]; utf8.RuneStart(b) {
			if b >= utf8.RuneSelf && !utf8.FullRune(p[len(p)-i:]) {
				return p[:len(p)-i]
			}
			break
		}
	}
	return p
}

// trimHead drops what the cut left of a character at the start.
func trimHead(p []byte) []byte {
	for i := range min(utf8.UTFMax, len(p)) {
		if utf8.RuneStart(p[i]) {
			return p[i:]
		}
	}
	return p
}
