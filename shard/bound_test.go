package shard

import (
	"testing"
	"time"
)

func TestBound(t *testing.T) {
	t.Parallel()
	took := func(all ...int) []Shard {
		var shards []Shard
		for i, s := range all {
			shards = append(shards, Shard{Number: i + 1, Started: time.Now(), Wall: time.Duration(s) * time.Second})
		}
		return shards
	}
	for _, tt := range []struct {
		shards []Shard
		cores  int
		fork   time.Duration
		want   string
	}{
		{took(10), 2, 0, ""},
		{took(0, 0), 2, 0, ""},
		{append(took(10), Shard{Number: 2}), 2, 0, ""},
		{took(10, 10, 11, 10), 2, 0, "4 children on 2 cores: more cores would help, more children will not"},
		{took(10, 10), 8, 0, "2 children on 8 cores, evenly split: more children would help"},
		{took(30, 5, 5, 5), 2, 0, "shard 1 took 30.0 s, the mean is 11.2 s: a more even split would help, more children will not"},
		{took(1, 1), 2, time.Minute, "forking took longer than the longest shard (1.0 s): fewer children would help"},
	} {
		if got := bound(Result{Shards: tt.shards, Fork: tt.fork}, tt.cores); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}
