package smolvmtest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// fault is one entry of SMOLVM_TEST_FAULT.
//
// The variable holds entries with ; between, each VERB[@MACHINE][*TIMES]:KIND[=VALUE]. VERB is a subcommand ("exec",
// "pack" for pack create) or * for all; MACHINE is a pattern as of path.Match for the name, or for the name of a
// branch's source; with TIMES only so many calls of all processes that share the state are hit. Kinds:
//
//	fail[=TEXT]    ends at once with "Error: TEXT" and 1
//	after[=TEXT]   the same, but only when all has been done
//	warn[=TEXT]    prints "WARN TEXT" on stderr first and goes on
//	hang           does nothing for ever
//	slow[=D]       takes D more (200ms), or with a path for D until that file is there: branch, start, stop and delete
//	               with the machine's lock held, branch once the child's record is there
//	garbage        prints what is no JSON on stdout and ends with 0
//	locked[=K]     the first K calls (1) fail with "database is locked"
//	kill[=SIGNAL]  dies of the signal (9): branch once the child's record is there, exec at the first output, others at once
//	boot[=K]       of branch: the K-th child (1) does not become ready, so all of the batch are removed
//	memory         of branch: the refusal for lack of memory
//	timeout        of start: the machine does not become ready
//	gap            of exec: the machine's container is not running
//	die[=D]        of exec: the machine crashes at the command's first output, or D after its start
//	vanish[=D]     of exec: as die, but the machine is there still and does not answer (unreachable)
//	slots[=K]      of exec: no more than K (8) at once in one machine, others wait
type fault struct {
	verb, machine, kind, value string
	times                      int // 0: always
	index                      int
}

var faultKinds = []string{
	"fail", "after", "warn", "hang", "slow", "garbage", "locked", "kill", "boot", "memory", "timeout", "gap", "die", "vanish", "slots",
}

func parseFaults(text string) ([]fault, error) {
	var all []fault
	for i, entry := range strings.Split(text, ";") {
		entry = strings.TrimSpace(entry)
		if entry == "" {
			continue
		}
		target, what, ok := strings.Cut(entry, ":")
		if !ok {
			return nil, fmt.Errorf("%q: VERB:KIND is needed", entry)
		}
		f := fault{index: i}
		f.kind, f.value, _ = strings.Cut(what, "=")
		if !slices.Contains(faultKinds, f.kind) {
			return nil, fmt.Errorf("%q: there is no kind %q", entry, f.kind)
		}
		if t, times, found := strings.Cut(target, "*"); found && times != "" {
			n, err := strconv.Atoi(times)
			if err != nil || n < 1 {
				return nil, fmt.Errorf("%q: %q is no number of times", entry, times)
			}
			target, f.times = t, n
		}
		f.verb, f.machine, _ = strings.Cut(target, "@")
		if f.kind == "locked" {
			f.kind, f.times, f.value = "fail", 1, "database operation failed: database is locked"
			if _, k, given := strings.Cut(what, "="); given {
				n, err := strconv.Atoi(k)
				if err != nil || n < 1 {
					return nil, fmt.Errorf("%q: %q is no number of times", entry, k)
				}
				f.times = n
			}
		}
		all = append(all, f)
	}
	return all, nil
}

// mine are the faults that hit this call. One that has a number of times left loses one.
func (c *call) mine(cmd *command) []fault {
	verb := cmd.names[0]
	if cmd.positional == nil && verb == "create" && c.args.values["output"] != nil {
		verb = "pack"
	}
	var out []fault
	for _, f := range c.faults {
		if f.verb != "*" && !slices.Contains(append([]string{verb}, cmd.names[1:]...), f.verb) {
			continue
		}
		if f.machine != "" && !matches(f.machine, c.machine) && !matches(f.machine, c.args.one("from")) {
			continue
		}
		if f.times > 0 && !c.store.uses(f, c.getenv("SMOLVM_TEST_FAULT")) {
			continue
		}
		out = append(out, f)
	}
	return out
}

func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}

// uses counts one use of a fault down, and tells whether there was one left.
func (s store) uses(f fault, all string) bool {
	left := false
	sum := sha256.Sum256([]byte(all))
	file := filepath.Join(s.dir, "faults", fmt.Sprintf("%s-%d", hex.EncodeToString(sum[:8]), f.index))
	s.locked(func() error { //nolint:errcheck // a fault that cannot be counted does not happen
		b, err := os.ReadFile(file)
		if err != nil && !os.IsNotExist(err) {
			return err
		}
		used, _ := strconv.Atoi(string(b))
		if used >= f.times {
			return nil
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		left = true
		return os.WriteFile(file, []byte(strconv.Itoa(used+1)), 0o600)
	})
	return left
}

// fault finds a fault of the kind among those that hit this call.
func (c *call) fault(kind string) *fault {
	for i := range c.faults {
		if c.faults[i].kind == kind {
			return &c.faults[i]
		}
	}
	return nil
}

func (f *fault) or(text string) string {
	if f.value != "" {
		return f.value
	}
	return text
}

func (f *fault) duration(otherwise time.Duration) time.Duration {
	if d, ok := humantime(f.value); ok && f.value != "" {
		return d
	}
	return otherwise
}

// strike does what happens before the command does anything. over tells that this was all.
func (c *call) strike() (over bool, err error) {
	if f := c.fault("warn"); f != nil {
		fmt.Fprintln(c.Err, "WARN", f.or("smolvm: something is odd"))
	}
	if c.fault("hang") != nil {
		for { // and not select {}, which the runtime takes for a deadlock
			time.Sleep(time.Hour)
		}
	}
	if f := c.fault("kill"); f != nil && c.args.one("from") == "" && !c.args.inGuest() {
		f.kill()
	}
	if f := c.fault("fail"); f != nil {
		return true, failf("%s", f.or("agent operation failed: injected by a test"))
	}
	if c.fault("garbage") != nil {
		fmt.Fprintln(c.Out, `[{"name": "trunc`)
		return true, nil
	}
	return false, nil
}

func (p parsed) inGuest() bool { return len(p.trailing) > 0 }

// kill ends this process as a signal from outside would.
func (f *fault) kill() {
	n, err := strconv.Atoi(f.or("9"))
	if err != nil {
		n = int(syscall.SIGKILL)
	}
	syscall.Kill(os.Getpid(), syscall.Signal(n)) //nolint:errcheck // of this very process
	time.Sleep(time.Minute)
}

// slow is the pause that a call makes while it holds its machine's lock.
func (c *call) slow() {
	f := c.fault("slow")
	if f == nil {
		return
	}
	if !filepath.IsAbs(f.value) {
		time.Sleep(f.duration(200 * time.Millisecond))
		return
	}
	for {
		if _, err := os.Stat(f.value); err == nil {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
}
