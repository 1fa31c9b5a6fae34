//go:build linux

package gvisor_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/keeper"
)

// TestAnImageInUseIsNoGarbage looks for garbage while a source holds its image: what lies beside it goes, and the
// source still makes children.
func TestAnImageInUseIsNoGarbage(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.start(t, runner.Spec{})
	src, err := s.(runner.Forker).Freeze(t.Context(), runner.ForkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	images, err := filepath.Glob(filepath.Join(p.dirs.Temp, "*", "images", "*"))
	if err != nil || len(images) != 1 {
		t.Fatalf("%q, %v", images, err)
	}
	stray := filepath.Join(filepath.Dir(images[0]), "stray")
	if err := os.Mkdir(stray, 0o700); err != nil {
		t.Fatal(err)
	}
	found, err := keeper.ReclaimAll(t.Context(), p.dirs, false)
	if err != nil || len(found.Items) != 1 || found.Items[0].Path != stray || found.Items[0].Kind != "image" {
		t.Errorf("%+v, %v", found, err)
	}
	if _, err := os.Stat(stray); err == nil {
		t.Error("it is still there")
	}
	child, err := src.Fork(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p.says(t, s, child.Key, "true")
	if err := src.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(images[0]); err == nil {
		t.Error("the image outlived its source")
	}
	if found, err = keeper.ReclaimAll(t.Context(), p.dirs, false); err != nil || len(found.Items) != 0 {
		t.Errorf("the second time: %+v, %v", found, err)
	}
}
