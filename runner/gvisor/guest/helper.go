//go:build linux

package guest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// socket is init's address: abstract, so it needs no file and survives a fork with init.
const socket = "@boxer-init"

// bootPatience bounds how long a helper waits for init to listen. Starting the binary inside takes some 50 ms.
const bootPatience = 20 * time.Second

// helper reads the request, runs do and writes its result. The exit code tells only whether there is a result.
func helper(do func(*json.Decoder, io.Reader) any) int {
	req := requestPipe()
	dec := json.NewDecoder(req)
	result := do(dec, req)
	out := os.NewFile(ResultFD, "result")
	if err := json.NewEncoder(out).Encode(result); err != nil {
		return 1
	}
	return 0
}

// run hands this process's streams and the request to init, passes signals on and returns init's answer.
func run(dec *json.Decoder, rest io.Reader) any {
	var r Request
	if err := dec.Decode(&r); err != nil {
		return broken(fmt.Errorf("read request: %w", err))
	}
	conn, err := dial()
	if err != nil {
		return broken(fmt.Errorf("reach init: %w", err))
	}
	defer conn.Close()
	if _, _, err := conn.WriteMsgUnix([]byte{0}, syscall.UnixRights(0, 1, 2), nil); err != nil {
		return broken(fmt.Errorf("hand streams to init: %w", err))
	}
	enc := json.NewEncoder(conn)
	if err := enc.Encode(r); err != nil {
		return broken(fmt.Errorf("send request to init: %w", err))
	}
	go passSignals(io.MultiReader(dec.Buffered(), rest), enc)
	var res Result
	if err := json.NewDecoder(bufio.NewReader(conn)).Decode(&res); err != nil {
		return broken(fmt.Errorf("init went away: %w", err))
	}
	return res
}

// passSignals forwards signal numbers from the keeper; when the keeper's caller is gone the command is killed.
func passSignals(r io.Reader, enc *json.Encoder) {
	dec := json.NewDecoder(r)
	for {
		var sig syscall.Signal
		if err := dec.Decode(&sig); err != nil {
			enc.Encode(syscall.SIGKILL) //nolint:errcheck // init gone means the command is gone
			return
		}
		if err := enc.Encode(sig); err != nil {
			return
		}
	}
}

func dial() (*net.UnixConn, error) {
	deadline := time.Now().Add(bootPatience)
	for {
		c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
		if err == nil {
			return c, nil
		}
		if !errors.Is(err, syscall.ECONNREFUSED) || time.Now().After(deadline) {
			return nil, err
		}
		time.Sleep(2 * time.Millisecond)
	}
}
