package shard

import (
	"reflect"
	"strings"
)

// masker gives what takes the secrets out of a text, nil where there are none. The longest come first, so that one
// that contains another goes whole.
func (o Options) masker() func(string) string {
	var pairs []string
	for _, s := range longestFirst(o.Secrets) {
		pairs = append(pairs, s, mask)
	}
	if len(pairs) == 0 {
		return nil
	}
	return strings.NewReplacer(pairs...).Replace
}

// masked is the result without secrets: what a test can put into a name, a message or a path must not come out again
// by way of a summary. Whatever tells of a run is made from this.
func (r Result) masked(secrets []string) Result {
	for _, v := range []any{&r.Shards, &r.Report, &r.Warnings, &r.Ledger} {
		conceal(reflect.ValueOf(v).Elem(), secrets)
	}
	return r
}
