// Package wire carries frames between boxer and a keeper over a unix stream socket: an 8-byte header together with
// file descriptors, then a body.
//
// It owns the part that every boxer must understand of every other: the header, the first three kinds, Hello and
// Answer in JSON. They never change. All else may change with Protocol.
//
// The choice a reader would question: that other part is in gob. Arguments, environments and file names are bytes,
// and JSON would replace those that are no UTF-8.
package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
)

// Protocol numbers what is said after the hello. Raise it with every change of a request, an answer or their meaning.
const Protocol = 2

// Hello is what both sides say first.
type Hello struct {
	Protocol int    `json:"protocol"`
	Version  string `json:"version"` // of boxer
}

// Kind says what a frame's body is.
type Kind uint32

// The kinds. Hello, Down and Answer are for ever.
const (
	KindHello   Kind = 1 // Hello
	KindDown    Kind = 2 // no body: end the sandbox. Works whatever the other's Protocol is
	KindAnswer  Kind = 3 // Answer
	KindRequest Kind = 4
	KindStep    Kind = 5
	KindSignal  Kind = 6
	KindStage   Kind = 7
)

const (
	headerSize = 8
	maxBody    = 64 << 20
	maxFiles   = 8
)

// Conn sends and receives frames. Sending is safe from several goroutines, receiving from one.
type Conn struct {
	c  *net.UnixConn
	mu sync.Mutex
}

// New takes over the connection.
func New(c *net.UnixConn) *Conn { return &Conn{c: c} }

// FromFile takes over a connected socket that was inherited; f is closed.
func FromFile(f *os.File) (*Conn, error) {
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		c.Close()
		return nil, fmt.Errorf("%s is no unix socket", f.Name())
	}
	return New(u), nil
}

// Unix gives the connection beneath.
func (c *Conn) Unix() *net.UnixConn { return c.c }

// Close closes both directions.
func (c *Conn) Close() error { return c.c.Close() }

// CloseWrite tells the other side that nothing more comes; its answer can still be received.
func (c *Conn) CloseWrite() error { return c.c.CloseWrite() }

// Send sends one frame. The files stay open here; the receiver gets its own.
func (c *Conn) Send(kind Kind, body any, files ...*os.File) error {
	b, err := encode(kind, body)
	if err != nil {
		return err
	}
	if len(b) > maxBody {
		return fmt.Errorf("a message of %d bytes is over the limit of %d", len(b), maxBody)
	}
	var header [headerSize]byte
	binary.BigEndian.PutUint32(header[:4], uint32(len(b)))
	binary.BigEndian.PutUint32(header[4:], uint32(kind))
	var oob []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		oob = syscall.UnixRights(fds...)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n, _, err := c.c.WriteMsgUnix(header[:], oob, nil)
	if err != nil {
		return err
	}
	if _, err := c.c.Write(header[n:]); n < headerSize && err != nil {
		return err
	}
	_, err = c.c.Write(b)
	return err
}

// Frame is one received frame. Close it: files that nobody took are closed with it.
type Frame struct {
	Kind Kind
	body []byte
	fds  []int
}

// Decode reads the body.
func (f *Frame) Decode(into any) error {
	if f.Kind.lasts() {
		return json.Unmarshal(f.body, into)
	}
	return decode(f.body, into)
}

func (k Kind) lasts() bool { return k == KindHello || k == KindDown || k == KindAnswer }

func encode(kind Kind, body any) ([]byte, error) {
	if kind.lasts() {
		return json.Marshal(body)
	}
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(body)
	return b.Bytes(), err
}

func decode(b []byte, into any) error { return gob.NewDecoder(bytes.NewReader(b)).Decode(into) }

// Files tells how many files came with the frame and were not taken.
func (f *Frame) Files() int { return len(f.fds) }

// TakeFD takes the next file descriptor out of the frame.
func (f *Frame) TakeFD() (int, error) {
	if len(f.fds) == 0 {
		return -1, fmt.Errorf("a file is missing in the message")
	}
	fd := f.fds[0]
	f.fds = f.fds[1:]
	return fd, nil
}

// TakeFile takes the next file out of the frame.
func (f *Frame) TakeFile(name string) (*os.File, error) {
	fd, err := f.TakeFD()
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// Close closes the files that nobody took.
func (f *Frame) Close() {
	for _, fd := range f.fds {
		syscall.Close(fd)
	}
	f.fds = nil
}

// Receive waits for the next frame; io.EOF means that the other side is gone or has closed its half between two.
func (c *Conn) Receive() (*Frame, error) {
	f := &Frame{}
	var header [headerSize]byte
	if err := c.header(header[:], f); err != nil {
		f.Close()
		return nil, err
	}
	size := binary.BigEndian.Uint32(header[:4])
	f.Kind = Kind(binary.BigEndian.Uint32(header[4:]))
	if size > maxBody {
		f.Close()
		return nil, fmt.Errorf("a message of %d bytes is over the limit of %d", size, maxBody)
	}
	f.body = make([]byte, size)
	if _, err := io.ReadFull(c.c, f.body); err != nil {
		f.Close()
		return nil, unexpected(err)
	}
	return f, nil
}

// header reads the header and the files that came with it.
func (c *Conn) header(header []byte, f *Frame) error {
	oob := make([]byte, syscall.CmsgSpace(4*maxFiles))
	for got := 0; got < len(header); {
		n, oobn, _, _, err := c.c.ReadMsgUnix(header[got:], oob)
		if oobn > 0 {
			fds, err := rights(oob[:oobn])
			f.fds = append(f.fds, fds...)
			if err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || (n == 0 && err == nil) {
			err = io.EOF // net wraps it here, and nowhere else
		}
		if err != nil {
			if got > 0 {
				err = unexpected(err)
			}
			return err
		}
		got += n
	}
	return nil
}

func rights(oob []byte) ([]int, error) {
	messages, err := syscall.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	var all []int
	for _, m := range messages {
		fds, err := syscall.ParseUnixRights(&m)
		if err != nil {
			continue // another kind of message
		}
		for _, fd := range fds {
			syscall.CloseOnExec(fd) // Linux did it already; macOS cannot
		}
		all = append(all, fds...)
	}
	return all, nil
}

func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
