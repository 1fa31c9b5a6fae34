package page

import (
	"fmt"
	"strings"
	"time"
)

// tickSteps are the distances of ticks that people can count in.
var tickSteps = []time.Duration{
	10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

const maxTicks = 10

// ticks are the points in time that the axis names.
func ticks(end time.Duration) []time.Duration {
	step := tickSteps[0]
	for _, s := range tickSteps {
		step = s
		if end/s < maxTicks {
			break
		}
	}
	for end/step >= maxTicks {
		step *= 2
	}
	var all []time.Duration
	for t := time.Duration(0); t <= end; t += step {
		all = append(all, t)
	}
	return all
}

func tickLabel(t time.Duration) string {
	if t < time.Minute {
		return fmt.Sprintf("%g s", t.Seconds())
	}
	s := t.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, zero) {
			s = s[:len(s)-2]
		}
	}
	return s
}
