//go:build linux

package gvisor_test

import (
	"context"
	"os/exec"
	"testing"

	"github.com/boxer-ci/boxer/runner"
)

// What single steps cost; the figures of whole commands are in bench_test.go at the top.
// go test -run '^$' -bench . ./runner/gvisor

// BenchmarkExec is one command that does nothing, in the parent (through init), in a child (directly) and on the host.
func BenchmarkExec(b *testing.B) {
	p, s := benchParent(b)
	child := forkAll(b, s, 1)[0]
	for _, where := range []struct{ name, sandbox string }{{"parent", ""}, {"child", child}} {
		b.Run(where.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Exec(context.Background(), where.sandbox, runner.Command{Args: []string{"true"}, Env: p.env}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("host", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkUpDown is a sandbox with nothing in it, from nothing to nothing.
func BenchmarkUpDown(b *testing.B) {
	p := newPlace(b)
	for b.Loop() {
		s, err := p.backend().Start(context.Background(), p.scope, runner.Spec{Worktree: runner.Live, Dir: p.worktree, Env: p.env}, nil)
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Down(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWork compares kinds of work in a child and on the host.
func BenchmarkWork(b *testing.B) {
	p, s := benchParent(b)
	child := forkAll(b, s, 1)[0]
	for _, w := range []struct{ name, line string }{
		{"2000 small files", "mkdir d && cd d && for i in $(seq 2000); do echo x >f$i; done; cat f* >/dev/null; cd .. && rm -r d"},
		{"300 processes", "for i in $(seq 300); do /bin/true; done"},
		{"counting", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"},
	} {
		b.Run(w.name+"/child", func(b *testing.B) {
			for b.Loop() {
				if x, err := s.Exec(context.Background(), child, runner.Command{Args: []string{"sh", "-c", w.line}, Env: p.env}); err != nil || x.Code != 0 {
					b.Fatal(x, err)
				}
			}
		})
		b.Run(w.name+"/host", func(b *testing.B) {
			for b.Loop() {
				c := exec.Command("sh", "-c", w.line)
				c.Dir = b.TempDir()
				if err := c.Run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func benchParent(b *testing.B) (place, runner.Session) {
	b.Helper()
	p := newPlace(b)
	s := p.start(b, runner.Spec{Services: []runner.Service{redis}})
	return p, s
}

func forkAll(b *testing.B, s runner.Session, n int) []string {
	b.Helper()
	var names []string
	for _, c := range fork(b, s, runner.Private, n) {
		names = append(names, c.Key)
	}
	return names
}
