package reap

import (
	"context"
	"fmt"
	"os"
	"time"
)

const killPoll = 2 * time.Millisecond

// KillAll kills what find picks from the process table, again and again until two tables in a row hold none of it.
// Everything is stopped before anything is killed: one that may still run could fork a child which nothing ties to it
// once it is dead, while a child of a stopped one has it as parent. What has ended is not shown to find.
func KillAll(ctx context.Context, find func(all []Stat) []Stat) error {
	for empty := 0; empty < 2; {
		found, err := stopAll(ctx, find)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			empty++
			continue
		}
		empty = 0
		for _, s := range found {
			s.Kill()
		}
		select {
		case <-time.After(killPoll):
		case <-ctx.Done():
			return fmt.Errorf("%d processes could not be killed, the first is %d: %w", len(found), found[0].PID, context.Cause(ctx))
		}
	}
	return nil
}

// stopAll stops what find picks until a table shows nothing new. A fork that is under way when its process is told to
// stop does not happen.
func stopAll(ctx context.Context, find func(all []Stat) []Stat) ([]Stat, error) {
	stopped := map[int]string{}
	for {
		all, err := Processes()
		if err != nil {
			return nil, err
		}
		found := find(living(all))
		grew := false
		for _, s := range found {
			if stopped[s.PID] != s.Start {
				stopped[s.PID], grew = s.Start, true
				s.Stop()
			}
		}
		if !grew || ctx.Err() != nil {
			return found, nil
		}
	}
}

func living(all []Stat) []Stat {
	var out []Stat
	for _, s := range all {
		if !s.Over() {
			out = append(out, s)
		}
	}
	return out
}

// Descendants picks the processes that root started, and theirs.
func Descendants(all []Stat, roots ...int) []Stat {
	in := map[int]bool{}
	for _, pid := range roots {
		in[pid] = true
	}
	var out []Stat
	for grew := true; grew; {
		grew = false
		for _, s := range all {
			if in[s.PPID] && !in[s.PID] {
				in[s.PID], grew = true, true
				out = append(out, s)
			}
		}
	}
	return out
}

// KillDescendants kills all that this process and what it started have started. Orphans are among them where this
// process is the one they fall to.
func KillDescendants(ctx context.Context) error {
	self := os.Getpid()
	return KillAll(ctx, func(all []Stat) []Stat { return Descendants(all, self) })
}
