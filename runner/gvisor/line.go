//go:build linux

package gvisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/boxer-ci/boxer/runner/gvisor/guest"
)

// line is the keeper's connection to the init of one sandbox: init's standard input and output. A parent's is never
// spoken on, but it must be there for its children to have one: gVisor gives a restored process the same descriptors
// that it had, with other pipes behind them.
type line struct {
	in, out           *os.File // our ends
	theirIn, theirOut *os.File // init's; closed once it has them
}

func newLine() (*line, error) {
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, theirIn.Close(), in.Close())
	}
	return &line{in: in, out: out, theirIn: theirIn, theirOut: theirOut}, nil
}

// handed is called when init has its ends.
func (l *line) handed() { l.theirIn.Close(); l.theirOut.Close() }

func (l *line) close() { l.in.Close(); l.out.Close() }

// ask gives init an identity and waits for its answer.
func (l *line) ask(ctx context.Context, id guest.Identity) (guest.IdentityResult, error) {
	var res guest.IdentityResult
	stop := context.AfterFunc(ctx, func() { l.out.SetReadDeadline(time.Now()) }) //nolint:errcheck // pipes have deadlines
	defer stop()
	if err := json.NewEncoder(l.in).Encode(id); err != nil {
		return res, fmt.Errorf("reach init: %w", err)
	}
	if err := json.NewDecoder(l.out).Decode(&res); err != nil {
		if ctx.Err() != nil {
			return res, context.Cause(ctx)
		}
		return res, fmt.Errorf("init gives no answer: %w", err)
	}
	return res, nil
}
