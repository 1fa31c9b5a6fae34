package smolvmtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// logBegin writes the line of a call that begins, and returns what writes the one of its end. A line is
// [time, "begin", id, [args...]] or [time, "end", id, [args...], exit code].
func (c *call) logBegin(args []string) (end func(code int)) {
	path := c.getenv("SMOLVM_TEST_LOG")
	if path == "" {
		return func(int) {}
	}
	id := fmt.Sprintf("%d-%d", os.Getpid(), time.Now().UnixNano())
	write := func(line ...any) {
		b, err := json.Marshal(append([]any{time.Now().Format(time.RFC3339Nano)}, line...))
		if err != nil {
			panic(err) // plain data always marshals
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
		if err == nil {
			_, err = f.Write(append(b, '\n')) // one write, so that lines do not mix
			f.Close()
		}
		if err != nil {
			fmt.Fprintln(c.Err, "smolvmtest: SMOLVM_TEST_LOG:", err)
		}
	}
	if args == nil {
		args = []string{}
	}
	write("begin", id, args)
	return func(code int) { write("end", id, args, code) }
}

// Call is one call of the program as its log tells it.
type Call struct {
	Args  []string
	Begin time.Time
	End   time.Time // zero: it has not ended, or was killed
	Code  int       // with End
}

// ReadLog reads a file that SMOLVM_TEST_LOG named: the calls in the order in which they began. No file is no calls.
func ReadLog(path string) ([]Call, error) {
	b, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var calls []Call
	at := map[string]int{}
	for line := range bytes.Lines(b) {
		var when time.Time
		var what, id string
		var call Call
		fields := []any{&when, &what, &id, &call.Args, &call.Code}
		if err := json.Unmarshal(line, &fields); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", path, line, err)
		}
		if what == "begin" {
			at[id] = len(calls)
			call.Begin = when
			calls = append(calls, call)
			continue
		}
		i, began := at[id]
		if !began {
			return nil, fmt.Errorf("%s: %q ends what did not begin", path, line)
		}
		calls[i].End, calls[i].Code = when, call.Code
	}
	return calls, nil
}
