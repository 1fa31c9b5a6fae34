//go:build linux

package gvisor_test

import (
	"testing"

	"github.com/boxer-ci/boxer/runner/conformance"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	conformance.Run(t, func(t *testing.T) conformance.Harness {
		p := newPlace(t)
		return conformance.Harness{Backend: p.backend(), Dirs: p.dirs, Scope: p.scope, User: "nobody"}
	})
}
