package shard

import (
	"reflect"
	"slices"
	"strings"
)

// conceal puts *** in place of the secrets in every text of a value. It goes through all there is, since a field that
// is added later must not be forgotten. Types of their own that are strings are words of boxer's, and stay.
func conceal(v reflect.Value, secrets []string) {
	longest := slices.SortedFunc(slices.Values(secrets), func(a, b string) int { return len(b) - len(a) })
	var pairs []string // one that contains another goes whole, so it stands in front
	for _, s := range longest {
		if s != "" {
			pairs = append(pairs, s, mask)
		}
	}
	if len(pairs) > 0 {
		concealWith(v, strings.NewReplacer(pairs...))
	}
}

func concealWith(v reflect.Value, r *strings.Replacer) {
	switch v.Kind() {
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() && v.Len() > 0 {
			v.SetString(r.Replace(v.String()))
		}
	case reflect.Slice:
		for i := range v.Len() {
			concealWith(v.Index(i), r)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				concealWith(v.Field(i), r)
			}
		}
	}
}
