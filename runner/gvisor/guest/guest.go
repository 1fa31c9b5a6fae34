//go:build linux

// Package guest is what runs inside a gVisor sandbox: boxer's init, which is the first process of every parent and
// lives on in every child, and the short-lived helpers that the keeper starts beside it.
//
// It owns process 1 of the sandbox and the socket it listens on. It may touch the sandbox's own processes, host name,
// /etc/machine-id and the services' logs. It knows nothing of runsc, mounts or the host.
//
// The choice a reader would question: a command of a parent is not exec'd by gVisor but started by init, because
// gVisor kills in every child what an exec ever started. A helper is exec'd instead, hands its own standard streams
// to init over a socket inside the sandbox, and waits; what the command leaves running belongs to init, so it is
// there in every child.
package guest

import (
	"encoding/json"
	"os"
	"syscall"
)

// The first arguments that make the sandbox's copy of the boxer binary one of the guest programs. They are no names in
// argv[0], because gVisor looks the first program of a sandbox up by that.
const (
	initName  = "boxer-init"  // process 1
	runName   = "boxer-run"   // Request on fd 3, Result on fd 4
	asName    = "boxer-as"    // Request on fd 3; Result on fd 4 if the command could not be executed, else nothing
	passName  = "boxer-pass"  // PassRequest on fd 3, PassResult on fd 4
	filesName = "boxer-files" // FilesRequest on fd 3, the tar stream on stdout, FilesResult on fd 4
)

// Init, Run, As, Pass and Files are the argument lists of the programs, path being where the binary lies.
func Init(path string) []string  { return []string{path, initName} }
func Run(path string) []string   { return []string{path, runName} }
func As(path string) []string    { return []string{path, asName} }
func Pass(path string) []string  { return []string{path, passName} }
func Files(path string) []string { return []string{path, filesName} }

// Main runs the program that args[1] names. handled is false where it names none.
func Main(args []string) (code int, handled bool) {
	if len(args) < 2 {
		return 0, false
	}
	switch args[1] {
	case initName:
		return serve(args[0]), true
	case runName:
		return helper(run), true
	case asName:
		return become(), true
	case passName:
		return helper(pass), true
	case filesName:
		return helper(collect), true
	}
	return 0, false
}

// Request is one command for init.
type Request struct {
	Args    words
	Dir     string
	Env     words
	UID     uint32
	GID     uint32
	Groups  []uint32
	Caps    []uintptr // capabilities the command may have; all others are dropped
	Service string    // start it as this service: no streams, do not wait
	Status  string    // instead of a command: how that service is
}

// words are arguments or variables: any bytes, where JSON's strings would lose what is no UTF-8.
type words []string

func (w words) MarshalJSON() ([]byte, error) {
	b := make([][]byte, len(w))
	for i, s := range w {
		b[i] = []byte(s)
	}
	return json.Marshal(b)
}

func (w *words) UnmarshalJSON(text []byte) error {
	var b [][]byte
	if err := json.Unmarshal(text, &b); err != nil {
		return err
	}
	*w = nil
	for _, s := range b {
		*w = append(*w, string(s))
	}
	return nil
}

// Result is how a request ended. Failure is set when there is no exit to tell.
type Result struct {
	Code    int
	Signal  syscall.Signal
	Failure Failure
	Message string   // with Failure
	Ended   bool     // Status: the service's process is over
	Log     []string // Status: its last lines
}

// Failure says why a command could not be started.
type Failure string

const (
	NotFound      Failure = "not found"
	NotExecutable Failure = "not executable"
	Broken        Failure = "broken" // init or the helper could not do its part
)

// RequestFD and ResultFD are the helpers' ends towards the keeper: one JSON document each; on RequestFD signal
// numbers may follow, and its end of file means that nobody waits any more.
const (
	RequestFD = 3
	ResultFD  = 4
)

func broken(err error) Result { return Result{Failure: Broken, Message: err.Error()} }

func requestPipe() *os.File { return os.NewFile(RequestFD, "request") }
