package smolvmtest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/boxer-ci/boxer/runner"
)

// store is what the stand-in remembers between calls.
type store struct{ dir string }

// machine is one machine's record.
type machine struct {
	Name      string            `json:"name"`
	State     state             `json:"state"`
	Image     string            `json:"image"`
	Workload  []string          `json:"workload"`
	Volumes   []volume          `json:"volumes"`
	Ports     []port            `json:"ports"`
	Env       []string          `json:"env"`
	Workdir   string            `json:"workdir"`
	User      string            `json:"user"`
	Init      []string          `json:"init"`
	InitDone  bool              `json:"init_done"`
	Labels    map[string]string `json:"labels"`
	CPUs      int               `json:"cpus"`
	Memory    int               `json:"memory"`
	Storage   int               `json:"storage"`
	Overlay   int               `json:"overlay"`
	Net       bool              `json:"net"`
	CreatedAt int64             `json:"created_at"`
	Parent    string            `json:"parent"`
	Source    bool              `json:"source"` // started as branchable, this boot
	Stored    bool              `json:"stored"` // branched with --branchable: what ls calls branchable
	Process   process           `json:"process"`
	Scope     string            `json:"scope"` // folder of the sandbox's keeper, "" before the first start
	LastPID   int               `json:"last_pid"`
	Child     string            `json:"child"` // name in that keeper; "" is the keeper's parent
}

type state string

const (
	created     state = "created"
	running     state = "running"
	stopped     state = "stopped"
	frozen      state = "frozen"
	unreachable state = "unreachable"
)

type volume struct{ Host, Guest, Mode string }

const (
	readOnly = "ro"
	staged   = "staged"
	remote   = "remote"
)

type port struct{ Host, Guest int }

// process is one that can be told from a later one with its number.
type process struct {
	PID   int
	Start string
}

func openStore(getenv func(string) string) (store, error) {
	dir := getenv("SMOLVM_DATA_DIR")
	if dir == "" {
		if data := getenv("XDG_DATA_HOME"); data != "" {
			dir = filepath.Join(data, "smolvm")
		} else if home := getenv("HOME"); home != "" {
			dir = filepath.Join(home, ".local", "share", "smolvm")
		} else {
			return store{}, failf("config operation failed: no HOME")
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return store{}, err
	}
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	return store{real}, err
}

// dirs are those of the gVisor backend. The path of a socket may not be long, so where the state lies deep they have
// another place.
func (s store) dirs() runner.Dirs {
	const longest = 60
	d := runner.Dirs{
		State: filepath.Join(s.dir, "sandbox", "state"), Runtime: filepath.Join(s.dir, "run"), Temp: filepath.Join(s.dir, "sandbox", "temp"),
	}
	if len(d.Runtime) > longest {
		sum := sha256.Sum256([]byte(s.dir))
		d.Runtime = filepath.Join(os.TempDir(), "smolvmtest-"+hex.EncodeToString(sum[:6]))
	}
	return d
}

// vm is the folder of a machine.
func (s store) vm(name string) string {
	sum := sha256.Sum256([]byte(name))
	return filepath.Join(s.dir, "vms", hex.EncodeToString(sum[:8]))
}

// scope is the folder that the machine's sandboxes belong to. It is the root of a git worktree by its looks, or it would
// be taken for a part of one that the state lies in.
func (s store) scope(name string) (string, error) {
	dir := filepath.Join(s.vm(name), "scope")
	return dir, os.MkdirAll(filepath.Join(dir, ".git"), 0o700)
}

// flock waits for the lock of the file. The kernel gives it back when its holder dies.
func flock(path string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

// operation is the lock that branch, start, stop and delete of one machine hold from begin to end.
func (s store) operation(name string) (unlock func(), err error) {
	return flock(filepath.Join(s.dir, "vms", "."+strings.ReplaceAll(name, "/", "_")+".fork-operation.lock"))
}

func (s store) locked(do func() error) error {
	unlock, err := flock(filepath.Join(s.dir, "state.lock"))
	if err != nil {
		return err
	}
	defer unlock()
	return do()
}

// all reads the machines, by name.
func (s store) all() (map[string]machine, error) {
	all := map[string]machine{}
	b, err := os.ReadFile(filepath.Join(s.dir, "state.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	return all, err
}

// change gives the machines to do, and writes down what it makes of them if it returns no error.
func (s store) change(do func(map[string]machine) error) error {
	return s.locked(func() error {
		all, err := s.all()
		if err == nil {
			err = do(all)
		}
		if err != nil {
			return err
		}
		b, err := json.MarshalIndent(all, "", " ")
		if err != nil {
			return err
		}
		path := filepath.Join(s.dir, "state.json")
		if err := os.WriteFile(path+".new", b, 0o600); err != nil {
			return err
		}
		return os.Rename(path+".new", path)
	})
}

// update changes one machine.
func (s store) update(name string, do func(*machine)) error {
	return s.change(func(all map[string]machine) error {
		m, ok := all[name]
		if !ok {
			return notFound(name)
		}
		do(&m)
		all[name] = m
		return nil
	})
}

func notFound(name string) error { return failf("vm not found: %s", name) }

// get finds a machine, in the state that it really is in.
func (s store) get(name string) (machine, error) {
	all, err := s.all()
	if err != nil {
		return machine{}, err
	}
	m, ok := all[name]
	if !ok {
		return m, notFound(name)
	}
	return m.now(), nil
}

// now corrects the state of a machine whose process is gone: it crashed.
func (m machine) now() machine {
	switch m.State {
	case running, frozen, unreachable:
		if !m.Process.alive() {
			m.State, m.Process = stopped, process{}
		}
	}
	return m
}

// children are the machines branched from the named one, by name.
func children(all map[string]machine, name string) []string {
	var out []string
	for n, m := range all {
		if m.Parent == name {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

func (p port) String() string { return fmt.Sprintf("%d->%d", p.Host, p.Guest) }
