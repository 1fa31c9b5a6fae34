//go:build vm && linux

package smolvm_test

import (
	"os"
	"testing"

	"github.com/boxer-ci/boxer/runner/conformance"
)

// TestConformanceOfSmolvm asks the real program what TestConformance asks the stand-in. Its machines lie where those
// of whoever runs the test do, since the program finds its guest's files there; none but the test's own is touched.
func TestConformanceOfSmolvm(t *testing.T) {
	warm := theReal(t)
	warm.drop(warm.machine("image")) // the questions' time limits leave no room for fetching an image
	conformance.Run(t, func(t *testing.T) conformance.Harness {
		p := newPlace(t)
		p.program, p.env, p.shares = warm.program, os.Environ(), true
		return p.harness(withImage{Backend: p.backend(), image: vmImage(), memory: vmMemory})
	})
}
