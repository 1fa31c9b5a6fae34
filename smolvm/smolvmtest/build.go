package smolvmtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Build builds the stand-in as dir/smolvm, for a test to put dir first on PATH. It is a program without cgo, whatever
// the test itself is: gVisor works in no other.
func Build(dir string) error {
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "smolvm"), "github.com/boxer-ci/boxer/smolvm/smolvmtest/smolvm")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the stand-in for smolvm: %w\n%s", err, out)
	}
	return nil
}
