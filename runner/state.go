package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"syscall"
	"time"
)

// Dirs are the places where boxer keeps things. The first three have mode 0700 and are owned by who calls it.
type Dirs struct {
	State   string // records of scopes: $XDG_STATE_HOME/boxer
	Runtime string // sockets: $XDG_RUNTIME_DIR/boxer or /tmp/boxer-UID
	Temp    string // images, overlays, upper folders: $BOXER_TMP, $TMPDIR or /var/tmp, in boxer-UID
	Data    string // packs, made by the first: $XDG_DATA_HOME/boxer, "" where there is no home
}

// maxSocketDir keeps socket paths under the 104 bytes that macOS allows (Linux: 108).
const maxSocketDir = 80

// DirsOf reads the places from the environment.
func DirsOf(getenv func(string) string, uid int) (Dirs, error) {
	state := getenv("XDG_STATE_HOME")
	if state == "" {
		home := getenv("HOME")
		if home == "" {
			return Dirs{}, &Error{
				Reason: "neither HOME nor XDG_STATE_HOME is set, so there is no place for boxer's state",
				Cause:  "NO_HOME", Fix: "export HOME=/some/folder/of/yours",
			}
		}
		state = filepath.Join(home, ".local", "state")
	}
	own := fmt.Sprintf("boxer-%d", uid)
	d := Dirs{State: filepath.Join(state, "boxer"), Runtime: filepath.Join("/tmp", own), Temp: filepath.Join("/var/tmp", own)}
	if data := getenv("XDG_DATA_HOME"); data != "" {
		d.Data = filepath.Join(data, "boxer")
	} else if home := getenv("HOME"); home != "" {
		d.Data = filepath.Join(home, ".local", "share", "boxer")
	}
	if run := getenv("XDG_RUNTIME_DIR"); run != "" && len(run) < maxSocketDir {
		if _, err := os.Stat(run); err == nil {
			d.Runtime = filepath.Join(run, "boxer")
		}
	}
	for _, name := range []string{"TMPDIR", "BOXER_TMP"} { // the later one wins
		if tmp := getenv(name); tmp != "" {
			d.Temp = filepath.Join(tmp, own)
		}
	}
	return d, nil
}

// Make creates the folders, or checks that existing ones are private to the caller.
func (d Dirs) Make() error {
	for _, dir := range []string{d.State, d.Runtime, d.Temp} {
		if err := makePrivate(dir); err != nil {
			return err
		}
	}
	return nil
}

// Check is Make for who only looks: a folder that is not there is not made.
func (d Dirs) Check() error {
	for _, dir := range []string{d.State, d.Runtime, d.Temp} {
		if err := private(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func makePrivate(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return private(dir)
}

func private(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || (ok && int(st.Uid) != os.Getuid()) || info.Mode().Perm()&0o077 != 0 {
		return &Error{
			Reason: fmt.Sprintf("%s is not a folder that only you can enter (it is %s, of uid %d)", dir, info.Mode(), st.Uid),
			Cause:  "UNSAFE_FOLDER", Fix: "rm -rf " + dir,
		}
	}
	return nil
}

// Record is what boxer remembers of a scope's sandbox outside the sandbox: where its keeper listens and where its
// files lie, written before anything is started, so that what a crash leaves can be found.
type Record struct {
	Scope   Scope     `json:"scope"`
	Backend string    `json:"backend"`
	Dir     string    `json:"dir"`    // the sandbox's private folder below Dirs.Temp
	Socket  string    `json:"socket"` // of the keeper; "" for a backend without one
	Owner   Process   `json:"owner"`  // the keeper, or whoever prepares it
	Created time.Time `json:"created"`
}

// Process names a process beyond doubt: a number alone may be somebody else's by now.
type Process struct {
	PID   int    `json:"pid"`
	Start string `json:"start"` // start time as the kernel tells it
	Boot  string `json:"boot"`  // boot id of the machine
}

// Store keeps the records, one file per scope, and the locks that go with them.
type Store struct{ Dir string } // Dirs.State

// Path is where the record of the scope lies, if there is one.
func (s Store) Path(key string) string { return filepath.Join(s.folder(), key+".json") }

func (s Store) folder() string { return filepath.Join(s.Dir, "scopes") }

// Put writes the record by rename, so that a reader never sees half of one.
func (s Store) Put(r Record) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	path := s.Path(r.Scope.Key)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), half(r.Scope.Key))
	if err != nil {
		return err
	}
	_, err = tmp.Write(b)
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		os.Remove(tmp.Name())
	}
	return err
}

// Get reads the scope's record; without one the error is fs.ErrNotExist.
func (s Store) Get(key string) (Record, error) {
	var r Record
	b, err := os.ReadFile(s.Path(key))
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return r, fmt.Errorf("%s: %w", s.Path(key), err)
	}
	return r, nil
}

// half is the pattern of a record that is being written.
func half(key string) string { return ".new-" + key + "-*" }

// Halves are the records of the scope that a crash left half written. Who asks holds the scope's lock.
func (s Store) Halves(key string) []string {
	halves, _ := filepath.Glob(filepath.Join(s.folder(), half(key))) // its own pattern is a good one
	return halves
}

// Keys are those of all scopes that have a record, be it one that cannot be read or was never finished, in order.
func (s Store) Keys() ([]string, error) {
	entries, err := os.ReadDir(s.folder())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var keys []string
	for _, e := range entries {
		if m := recordName.FindStringSubmatch(e.Name()); m != nil {
			keys = append(keys, m[1]+m[2]) // one of the two is empty
		}
	}
	sort.Strings(keys)
	return slices.Compact(keys), nil
}

var recordName = regexp.MustCompile(`^(?:(sb-[0-9a-f]{12})\.json|\.new-(sb-[0-9a-f]{12})-[0-9]+)$`)

// Delete forgets the scope, and what a crash left of a record half written; forgetting one that is not known is no
// error.
func (s Store) Delete(key string) error {
	for _, h := range s.Halves(key) {
		os.Remove(h)
	}
	if err := os.Remove(s.Path(key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// All returns every record by worktree. A record that cannot be read is in the error; the others are returned.
func (s Store) All() ([]Record, error) {
	entries, err := os.ReadDir(s.folder())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []Record
	var errs []error
	for _, e := range entries {
		key, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok {
			continue
		}
		r, err := s.Get(key)
		if err == nil {
			all = append(all, r)
		} else if !errors.Is(err, fs.ErrNotExist) { // removed meanwhile
			errs = append(errs, err)
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Scope.Worktree < all[j].Scope.Worktree })
	return all, errors.Join(errs...)
}

// Lock waits for the scope's lock, which the kernel releases when its holder dies. It serialises starting and
// stopping; whoever holds it may remove what a dead owner left.
func (s Store) Lock(key string) (unlock func(), err error) {
	dir := filepath.Join(s.Dir, "locks")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, key), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if err != syscall.EINTR {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", key, err)
	}
	return func() { f.Close() }, nil
}

// LockWithin is Lock that gives up when ctx ends.
func (s Store) LockWithin(ctx context.Context, key string) (unlock func(), err error) {
	type result struct {
		unlock func()
		err    error
	}
	got := make(chan result)
	go func() {
		unlock, err := s.Lock(key)
		select {
		case got <- result{unlock, err}:
		case <-ctx.Done():
			if err == nil {
				unlock()
			}
		}
	}()
	select {
	case r := <-got:
		return r.unlock, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
