package smolvm

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/boxer-ci/boxer/runner"
)

// The causes that only smolvm gives.
const (
	NoHypervisor   runner.Cause = "NO_HYPERVISOR"
	NameTaken      runner.Cause = "NAME_TAKEN"
	StagedMount    runner.Cause = "STAGED_MOUNT"
	NoNetwork      runner.Cause = "NO_NETWORK"
	LiveWorktree   runner.Cause = "LIVE_WORKTREE"
	SlowStart      runner.Cause = "START_TIMEOUT"
	BadMount       runner.Cause = "BAD_MOUNT"
	databaseLocked              = "database is locked"
)

const install = "curl -sSL https://smolmachines.com/install.sh | bash"

// errNoMachine lies beneath the error for a machine that smolvm does not know.
var errNoMachine = errors.New("smolvm does not know the machine")

func missing() *runner.Error {
	return &runner.Error{Reason: "there is no program smolvm on PATH", Cause: runner.BackendUnavailable, Fix: install}
}

// known is one failure that smolvm tells in these words: what it means to somebody who uses boxer. NAME stands for
// the machine.
type known struct {
	text   string // a part of the message
	cause  runner.Cause
	reason string // "" is smolvm's own words, letter for letter
	fix    string
}

// faults are looked through from the top: a message may hold two of the texts, and the one that says more comes first.
var faults = []known{
	{"staged mounts cannot be branched yet", StagedMount, "", "smolvm machine delete --name NAME --force && boxer fork --prepare"},
	{"has remote volumes, which cannot be branched yet", StagedMount, "", "smolvm machine delete --name NAME --force && boxer fork --prepare"},
	{"was not started as branchable", runner.NotForkable, "", "boxer fork --prepare"},
	{"is not running forkable", runner.NotForkable, "", "boxer fork --prepare"},
	{"control socket not responding", runner.NotForkable, "", "boxer fork --prepare"},
	{"connect control socket", runner.NotForkable, "", "boxer fork --prepare"},
	{"a valid retained checkpoint is required", runner.NotForkable, "", "boxer fork --prepare"},
	{"is frozen as a reusable fork base", runner.IsBusy, "", "boxer down"},
	{"stop or delete the clones first", runner.IsBusy, "", "boxer fork rm --all"},
	{"of effective host headroom", runner.NoMemory, "", "boxer ls --resources"},
	{"fork lineage would exceed", runner.NotForkable, "", "boxer down && boxer fork --prepare"},
	{"runs a guest agent without the branch protocol", runner.OtherVersion, "", "boxer down && boxer fork --prepare"},
	{"KVM not available", NoHypervisor, "", kvmModule},
	{"kvm not available", NoHypervisor, "", kvmModule},
	{"/dev/kvm (permission denied)", NoHypervisor, "", kvmGroup},
	{"kvm permission denied", NoHypervisor, "", kvmGroup},
	{"com.apple.security.hypervisor", NoHypervisor, "", install},
	{"krun_start_enter returned: -22", runner.BackendUnavailable, "the machine's socket has too long a path, because HOME is a long one: smolvm cannot start any machine", "SMOLVM_DATA_DIR=/tmp/smolvm boxer doctor"},
	{"did not become ready within 30 seconds", SlowStart, "the machine did not get ready within 30 seconds: this machine is loaded, has too little memory for it (smolvm.memory), or a folder that is mounted is gone", "boxer doctor"},
	{"must be pulled from a registry, but this machine has no network", NoNetwork, "", "smolvm machine ls # and write network: true below smolvm: in boxer.yaml"},
	{"TOOMANYREQUESTS", NoNetwork, "the registry refuses more anonymous pulls of the image", "docker login # or name a mirror of the image in smolvm.image"},
	{"mount source not found", BadMount, "", "boxer down"},
	{"protected system path", BadMount, "", "cp -a . ~/project # and run boxer there"},
	{"already exists", NameTaken, "", "smolvm machine delete --name NAME --force"},
	{"is already in use by running machine", runner.BackendFailed, "", "smolvm machine ls"},
	{"sidecar file too small to contain footer", runner.PackTruncated, "the machine in the pack is cut off: smolvm finds no end of it", ""},
	{"Stop it first with: smolvm machine stop", runner.MustBeStopped, "", "smolvm machine stop --name NAME"},
	{"guest did not confirm filesystem synchronization", runner.NoSpace, "", "df -h ~/.cache"},
	{"No space left on device", runner.NoSpace, "", "df -h ~/.cache"},
	{"output exceeded", runner.BackendFailed, "", "boxer doctor"},
	{databaseLocked, runner.BackendFailed, "smolvm's database stayed locked: another smolvm is at work, or hangs", "smolvm machine ls"},
}

// noMachine are the ways to say that a machine is not there.
var noMachine = regexp.MustCompile(`vm not found: |machine '[^']*' not found`)

// notUp are the ways to say that a machine does not run.
var notUp = regexp.MustCompile(`machine '[^']*' is not running|invalid vm state`)

// gap is what exec says while a container starts anew.
var gap = regexp.MustCompile(`the container .* is not running`)

// passes tells whether a failure of the call is one that goes away by itself.
func passes(args []string, stderr string) bool {
	text, ours := errorLine(stderr)
	if !ours {
		text = stderr
	}
	if strings.Contains(text, databaseLocked) {
		return true
	}
	switch verbOf(args) {
	case "delete":
		return strings.Contains(strings.ToLower(text), "directory not empty")
	case "exec":
		return ours && gap.MatchString(text)
	}
	return false
}

// faultOf turns what smolvm said into an error that a person can act on. Words that boxer does not know are shown
// whole.
func faultOf(args []string, a answer) *runner.Error {
	text, ours := errorLine(a.err)
	if !ours {
		text = strings.TrimSpace(a.err)
	}
	name := nameIn(args)
	e := &runner.Error{Cause: runner.BackendFailed, Fix: "boxer doctor"}
	call := "smolvm " + strings.Join(short(args), " ")
	switch {
	case noMachine.MatchString(text):
		e.Reason, e.Cause, e.Fix = "smolvm does not know the machine "+name+" any more", runner.Gone, "boxer ls"
		return e.Because(errNoMachine)
	case a.code < 0:
		e.Reason, e.Output = call+" was killed", runner.LastLines([]byte(a.err))
		return e
	case a.code == 2:
		e.Reason = call + " was not understood: this smolvm may be of another version than boxer knows"
		e.Cause, e.Fix, e.Output = runner.OtherVersion, "smolvm --version", runner.LastLines([]byte(a.err))
		return e
	}
	for _, f := range faults {
		if !strings.Contains(text, f.text) {
			continue
		}
		e.Cause, e.Fix = f.cause, strings.ReplaceAll(f.fix, "NAME", name)
		if e.Reason = f.reason; e.Reason == "" {
			e.Reason = text
		} else {
			e.Output = runner.LastLines([]byte(text))
		}
		return e
	}
	if notUp.MatchString(text) {
		e.Reason, e.Cause, e.Fix = text, runner.Gone, "boxer ls"
		return e
	}
	e.Reason = fmt.Sprintf("%s failed with exit code %d", call, a.code)
	if text != "" && !strings.Contains(text, "\n") {
		e.Reason += ": " + text
	} else if text != "" {
		e.Output = strings.Split(text, "\n")
	} else {
		e.Reason += " and said nothing"
	}
	return e
}

// nameIn is the machine that a call is about.
func nameIn(args []string) string {
	name := "?"
	for i, a := range args[:len(args)-1] {
		switch {
		case a == "--":
			return name
		case a == "--from" && verbOf(args) == "branch", a == "--from-vm", a == "--name" && name == "?":
			name = args[i+1]
		}
	}
	return name
}
