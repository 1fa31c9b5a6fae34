package report

import "io"

// input reads a file in pieces. Unlike a bufio.Reader it shows all that it holds in one look, which a scanner takes
// some twenty times for each test case.
type input struct {
	r        io.Reader
	buf      []byte
	from, to int // what of buf is read and not passed yet
	err      error
}

const (
	inputSize  = 64 << 10
	emptyReads = 100 // in a row, until a reader counts as broken
)

func newInput(r io.Reader) input { return input{r: r, buf: make([]byte, inputSize)} }

// window gives the bytes that can be looked at without reading, at least one. They are good until more is read.
func (in *input) window() ([]byte, error) {
	if in.from == in.to && len(in.peek(1)) == 0 {
		return nil, in.err
	}
	return in.buf[in.from:in.to], nil
}

// peek gives the next n bytes, or fewer if the file ends before.
func (in *input) peek(n int) []byte {
	if in.to-in.from < n {
		in.fill(n)
	}
	return in.buf[in.from:min(in.from+n, in.to)]
}

func (in *input) fill(n int) {
	in.to = copy(in.buf, in.buf[in.from:in.to])
	in.from = 0
	for empty := 0; in.to < n && in.err == nil; {
		got, err := in.r.Read(in.buf[in.to:])
		in.to += got
		if empty++; got > 0 {
			empty = 0
		}
		if in.err = err; err == nil && empty == emptyReads {
			in.err = io.ErrNoProgress
		}
	}
}
