package cmd

import (
	"strings"
	"testing"
	"time"

	"github.com/boxer-ci/boxer/runner"
)

func TestTable(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	o := listOptions{deps: deps{now: func() time.Time { return now }}, Resources: true}
	got := o.table([]runner.Sandbox{
		{Key: "sb-1", Slug: "swift-crab", State: runner.Running, Backend: "gvisor", Worktree: "/src", Created: now.Add(-90 * time.Second), Usage: runner.Usage{Memory: 30 << 20, Shared: 2 << 20, Disk: 5}},
		{Key: "sb-1-f1", Slug: "swift-crab-f1", Parent: "sb-1", State: runner.Dead, Backend: "gvisor", Worktree: "/src", Created: now.Add(time.Hour)},
	})
	want := `NAME             KEY      STATE    BACKEND  AGE  MEMORY  SHARED  DISK  WORKTREE
swift-crab       sb-1     running  gvisor   1m   30 MiB  2 MiB   5 B   /src
  swift-crab-f1  sb-1-f1  dead     gvisor   0s   0 B     0 B     0 B   /src`
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	if got := o.table(nil); got != nil {
		t.Errorf("nothing: %q", got)
	}
}

func TestAge(t *testing.T) {
	t.Parallel()
	for in, want := range map[time.Duration]string{
		-time.Hour: "0s", 59 * time.Second: "59s", time.Minute: "1m", 90 * time.Minute: "1h", 47 * time.Hour: "47h", 50 * time.Hour: "2d",
	} {
		if got := age(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestSize(t *testing.T) {
	t.Parallel()
	for in, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1 KiB", 5 << 20: "5 MiB", 9 << 30: "9216 MiB", 20 << 30: "20 GiB"} {
		if got := size(in); got != want {
			t.Errorf("%d: %s, want %s", in, got, want)
		}
	}
}
