package plan_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/boxer-ci/boxer/shard/plan"
)

// drain takes all batches one after the other, and tells the queue that each took startup beside its units.
func drain(q *plan.Queue, startup time.Duration) string {
	var batches []string
	for batch := q.Next(); batch != nil; batch = q.Next() {
		batches = append(batches, names(batch))
		var sum time.Duration
		for _, j := range batch {
			sum += j.Expect
		}
		q.Done(batch, sum+startup, sum)
	}
	return strings.Join(batches, "|")
}

func TestQueueOrder(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, jobs string
		n          int
		startup    time.Duration
		want       string // batches, separated by |
	}{
		{"nothing", "", 2, 0, ""},
		{"longest first, one at a time where starting is free", "a:1 b:4 c:2 d:3", 2, 0, "b|d|c|a"},
		{"equal ones by name", "c a b", 3, 0, "a|b|c"},
		{"unknown ones after the giants and before the rest", "a:1 b:1 u? c:1 giant:9 v?", 2, 0, "giant|u|v|a|b|c"},
		{"unknown ones in the order of the list", "z? y? x?", 3, 0, "z|y|x"},
		{"a start-up worth more than all: what is left goes at once", "a b c d e f g h", 1, 10 * time.Second, "a b c|d e f g h"},
		{"a start-up asks for batches, which get smaller", strings.Repeat("a ", 80), 2, time.Second / 2,
			"13|15|15|12|8|6|4|4|2|1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			list := jobs(tt.jobs)
			for i := range list {
				if strings.HasPrefix(tt.jobs, "a a") {
					list[i].Unit.Key = fmt.Sprintf("%03d", i)
				}
			}
			got := drain(plan.NewQueue(list, tt.n), tt.startup)
			if strings.HasPrefix(tt.jobs, "a a") {
				got = sizes(got)
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func sizes(batches string) string {
	var words []string
	for _, b := range strings.Split(batches, "|") {
		words = append(words, fmt.Sprint(len(strings.Fields(b))))
	}
	return strings.Join(words, "|")
}

func TestQueueLeft(t *testing.T) {
	t.Parallel()
	q := plan.NewQueue(jobs("a:4 b:2 c:2"), 2)
	want := func(jobs int, work time.Duration) {
		t.Helper()
		if n, w := q.Left(); n != jobs || w.Round(time.Millisecond) != work {
			t.Errorf("%d jobs, %s left, want %d, %s", n, w, jobs, work)
		}
	}
	want(3, 8*time.Second)
	a := q.Next()
	want(2, 4*time.Second)
	q.Done(a, 13*time.Second, 12*time.Second) // three times as long as expected
	want(2, 12*time.Second)
	b := q.Next()
	q.Return(b)
	want(2, 12*time.Second)
}

// A unit that ends its child takes others with it only a few times.
func TestQueueFindsTheKiller(t *testing.T) {
	t.Parallel()
	for _, known := range []bool{true, false} {
		list := draw(100, func(int) float64 { return 1 })
		var all []plan.Job
		for i := range list {
			j := jobs(fmt.Sprintf("u%02d:1", i))[0]
			j.Known = known
			all = append(all, j)
		}
		q := plan.NewQueue(all, 1)
		ran, deaths := map[string]int{}, 0
		for batch := q.Next(); batch != nil; batch = q.Next() {
			if strings.Contains(names(batch), "u07") {
				deaths++
				if len(batch) > 1 {
					q.Return(batch)
					continue
				}
			}
			for _, j := range batch {
				ran[j.Unit.Key]++
			}
			q.Done(batch, 2*time.Minute, time.Minute)
		}
		for _, j := range all {
			if ran[j.Unit.Key] != 1 {
				t.Errorf("%s ran %d times", j.Unit.Key, ran[j.Unit.Key])
			}
		}
		if deaths < 2 || deaths > 7 {
			t.Errorf("%d children died", deaths)
		}
	}
}

// FuzzQueue lets the bytes say what the children do: ask, be done or die, in any order.
func FuzzQueue(f *testing.F) {
	f.Add(uint8(10), uint8(2), []byte{0, 1, 2, 3, 4, 5})
	f.Add(uint8(200), uint8(8), []byte("\x00\x00\x03\x04\x07\x05\x06\x01\x02"))
	f.Fuzz(func(t *testing.T, count, n uint8, steps []byte) {
		var all []plan.Job
		for i := range int(count) {
			all = append(all, jobs(fmt.Sprintf("u%d:%d%s", i, i%7, strings.Repeat("?", i%2)))...)
		}
		q := plan.NewQueue(all, int(n))
		var out [][]plan.Job
		ran := map[string]int{}
		finish := func(batch []plan.Job, step byte) {
			for _, j := range batch {
				ran[j.Unit.Key]++
			}
			q.Done(batch, time.Duration(step)*time.Second, time.Duration(step%5)*time.Second)
		}
		for _, step := range steps {
			switch {
			case step%3 == 0 || len(out) == 0:
				if batch := q.Next(); batch != nil {
					out = append(out, batch)
				}
			case step%3 == 1: // the child is done
				at := int(step) % len(out)
				finish(out[at], step)
				out = append(out[:at], out[at+1:]...)
			default: // it died when a part was done
				at := int(step) % len(out)
				half := int(step) % (len(out[at]) + 1)
				finish(out[at][:half], step)
				q.Return(out[at][half:])
				out = append(out[:at], out[at+1:]...)
			}
		}
		for _, batch := range out {
			q.Return(batch)
		}
		for batch := q.Next(); batch != nil; batch = q.Next() {
			finish(batch, 1)
		}
		for _, j := range all {
			if ran[j.Unit.Key] != 1 {
				t.Fatalf("%s ran %d times", j.Unit.Key, ran[j.Unit.Key])
			}
		}
		if n, work := q.Left(); n != 0 || work > time.Millisecond {
			t.Fatalf("%d jobs, %s left", n, work)
		}
	})
}

func TestQueueAtOnce(t *testing.T) {
	t.Parallel()
	const children, count = 8, 2000
	var all []plan.Job
	for i := range count {
		all = append(all, jobs(fmt.Sprintf("u%04d:%d", i, 1+i%13))...)
	}
	q := plan.NewQueue(all, children)
	var mu sync.Mutex
	ran := map[string]int{}
	var group sync.WaitGroup
	for c := range children {
		r := rand.New(rand.NewPCG(uint64(c), 5))
		group.Go(func() {
			for batch := q.Next(); batch != nil; batch = q.Next() {
				if r.IntN(4) == 0 {
					q.Return(batch)
					continue
				}
				mu.Lock()
				for _, j := range batch {
					ran[j.Unit.Key]++
				}
				mu.Unlock()
				q.Left()
				q.Done(batch, time.Duration(len(batch))*time.Second, time.Duration(r.IntN(2))*time.Second)
			}
		})
	}
	group.Wait()
	for _, j := range all {
		if ran[j.Unit.Key] != 1 {
			t.Errorf("%s ran %d times", j.Unit.Key, ran[j.Unit.Key])
		}
	}
}
