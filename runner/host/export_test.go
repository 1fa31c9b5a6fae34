package host

import "github.com/boxer-ci/boxer/runner/keeper"

// From starts on a lower rung of the ladder.
func (b *Backend) From(r keeper.Rung) *Backend {
	b.keeper.From = r
	return b
}
