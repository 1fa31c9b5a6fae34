// Package stock counts the goods in a warehouse. It keeps nothing itself: the
// numbers live in the key-value server of ./kvserver, under the item's name.
package stock

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"strconv"
)

// Server is where the key-value server listens. The port is fixed on purpose:
// two servers on one machine would be one too many.
const Server = "127.0.0.1:7070"

// ErrShort is returned when more should leave the warehouse than is in it.
var ErrShort = errors.New("not enough on hand")

// Stock is a connection to the numbers.
type Stock struct {
	conn    net.Conn
	replies *bufio.Scanner
}

// Open connects to Server.
func Open() (*Stock, error) {
	conn, err := net.Dial("tcp", Server)
	if err != nil {
		return nil, err
	}
	return &Stock{conn: conn, replies: bufio.NewScanner(conn)}, nil
}

// Close ends the connection; the numbers stay.
func (s *Stock) Close() error { return s.conn.Close() }

// Clear forgets every item.
func (s *Stock) Clear() error {
	_, err := s.ask("FLUSH")
	return err
}

// Items tells how many different items there are, sold-out ones included.
func (s *Stock) Items() (int, error) { return s.number("COUNT") }

// OnHand tells how many of the item there are; 0 for one never received.
func (s *Stock) OnHand(item string) (int, error) { return s.number("GET " + item) }

// Receive adds n of the item.
func (s *Stock) Receive(item string, n int) error {
	have, err := s.OnHand(item)
	if err != nil {
		return err
	}
	_, err = s.ask(fmt.Sprintf("SET %s %d", item, have+n))
	return err
}

// Ship takes n of the item away, all of them or none.
func (s *Stock) Ship(item string, n int) error {
	have, err := s.OnHand(item)
	if err != nil {
		return err
	}
	if have < n {
		return fmt.Errorf("ship %d %s of %d: %w", n, item, have, ErrShort)
	}
	_, err = s.ask(fmt.Sprintf("SET %s %d", item, have-n))
	return err
}

// Relabel makes n of one item n of another.
func (s *Stock) Relabel(from, to string, n int) error {
	if err := s.Ship(from, n); err != nil {
		return err
	}
	return s.Receive(to, n)
}

func (s *Stock) number(request string) (int, error) {
	reply, err := s.ask(request)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(reply)
}

func (s *Stock) ask(request string) (string, error) {
	if _, err := fmt.Fprintln(s.conn, request); err != nil {
		return "", err
	}
	if !s.replies.Scan() {
		return "", errors.Join(errors.New("the server hung up"), s.replies.Err())
	}
	return s.replies.Text(), nil
}
