//go:build linux

package gvisor_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/keeper"
)

// TestAnImageInUseIsNoGarbage looks for garbage while a source holds its image: what lies beside it goes, and the
// source still makes children.
func TestAnImageInUseIsNoGarbage(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.start(t, runner.Spec{})
	src, err := s.(runner.Forker).Freeze(t.Context(), runner.ForkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	images, err := filepath.Glob(filepath.Join(p.dirs.Temp, "*", "images", "*"))
	if err != nil || len(images) != 1 {
		t.Fatalf("%q, %v", images, err)
	}
	stray := filepath.Join(filepath.Dir(images[0]), "stray")
	if err := os.Mkdir(stray, 0o700); err != nil {
		t.Fatal(err)
	}
	found, err := keeper.ReclaimAll(t.Context(), p.dirs, false)
	if err != nil || len(found.Items) != 1 || found.Items[0].Path != stray || found.Items[0].Kind != "image" {
		t.Errorf("%+v, %v", found, err)
	}
	if _, err := os.Stat(stray); err == nil {
		t.Error("it is still there")
	}
	child, err := src.Fork(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p.says(t, s, child.Key, "true")
	if err := src.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(images[0]); err == nil {
		t.Error("the image outlived its source")
	}
	if found, err = keeper.ReclaimAll(t.Context(), p.dirs, false); err != nil || len(found.Items) != 0 {
		t.Errorf("the second time: %+v, %v", found, err)
	}
}

// TestWhatOutlivedItsKeeperIsEnded is about places without a PID namespace: there a keeper and its guard that are both
// killed outright leave the sandbox's processes running.
func TestWhatOutlivedItsKeeperIsEnded(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.rung = keeper.Mounts
	p.start(t, runner.Spec{})
	r, err := runner.Store{Dir: p.dirs.State}.Get(p.scope.Key)
	if err != nil {
		t.Fatal(err)
	}
	guard := r.Owner.PID
	if err := syscall.Kill(guard, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for _, pid := range childrenOf(t, guard) { // the keeper
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Kill(guard, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	// Somebody who reads a keeper's log is none of boxer's.
	reader := exec.Command("tail", "-f", filepath.Join(r.Dir, "keeper.log"))
	if err := reader.Start(); err != nil {
		t.Fatal(err)
	}
	if len(p.strays()) == 0 {
		t.Error("no process outlived the keeper, so this shows nothing")
	}
	found, err := keeper.ReclaimAll(t.Context(), p.dirs, false)
	if err != nil || len(found.Items) != 1 || found.Items[0].Kind != "sandbox" {
		t.Errorf("%+v, %v", found, err)
	}
	for _, left := range p.strays() {
		t.Errorf("process left: %s", left)
	}
	if err := reader.Process.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("the reader was ended: %v", err)
	}
	reader.Wait()
}

// strays lists gVisor's processes that have files of the place.
func (p place) strays() []string {
	var out []string
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, l := range lines {
		b, _ := os.ReadFile(l)
		if text := string(b); strings.HasPrefix(text, "runsc") && strings.Contains(text, p.dirs.Temp) {
			out = append(out, text)
		}
	}
	return out
}

func childrenOf(t *testing.T, pid int) []int {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil || len(lists) == 0 {
		t.Fatalf("no list of children: %v", err)
	}
	var all []int
	for _, l := range lists {
		text, err := os.ReadFile(l)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range strings.Fields(string(text)) {
			child, err := strconv.Atoi(word)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, child)
		}
	}
	return all
}
