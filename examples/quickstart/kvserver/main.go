// Command kvserver keeps numbers under names, in memory, on one fixed port.
//
// A request is a line, and so is its reply: SET NAME NUMBER, GET NAME (0 if it
// was never set), COUNT, FLUSH, PING. "kvserver ping" asks a running server
// whether it is there and exits 0 if it is.
package main

import (
	"bufio"
	"fmt"
	"log"
	"net"
	"os"
	"strconv"
	"sync"

	stock "example.com/quickstart"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("kvserver: ")
	run := serve
	if len(os.Args) > 1 && os.Args[1] == "ping" {
		run = ping
	}
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func ping() error {
	conn, err := net.Dial("tcp", stock.Server)
	if err != nil {
		return err
	}
	defer conn.Close()
	fmt.Fprintln(conn, "PING")
	reply, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && reply != "PONG\n" {
		err = fmt.Errorf("PING was answered by %q", reply)
	}
	return err
}

func serve() error {
	listener, err := net.Listen("tcp", stock.Server)
	if err != nil {
		return err
	}
	log.Print("listening on ", stock.Server)
	store := store{numbers: map[string]int{}}
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		go store.talk(conn)
	}
}

type store struct {
	mu      sync.Mutex
	numbers map[string]int
}

func (s *store) talk(conn net.Conn) {
	defer conn.Close()
	for requests := bufio.NewScanner(conn); requests.Scan(); {
		fmt.Fprintln(conn, s.answer(requests.Text()))
	}
}

func (s *store) answer(request string) string {
	var verb, name, number string
	fmt.Sscan(request, &verb, &name, &number) // what is not there stays empty
	s.mu.Lock()
	defer s.mu.Unlock()
	switch verb {
	case "SET":
		n, err := strconv.Atoi(number)
		if err != nil {
			return "ERROR " + err.Error()
		}
		s.numbers[name] = n
		return "OK"
	case "GET":
		return strconv.Itoa(s.numbers[name])
	case "COUNT":
		return strconv.Itoa(len(s.numbers))
	case "FLUSH":
		clear(s.numbers)
		return "OK"
	case "PING":
		return "PONG"
	}
	return "ERROR unknown request " + verb
}
