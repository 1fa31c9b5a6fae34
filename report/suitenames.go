package report

import (
	"hash/maphash"
	"sync"
)

// suiteNames knows which suites of a merge share their name with another one. Many reports are looked through at once.
type suiteNames struct {
	mask  func(string) string // what is done to a name before it is written; may be nil
	seed  maphash.Seed
	mu    sync.Mutex
	often map[uint64]bool // by the hash of the name: whether it came more than once
}

func newSuiteNames(mask func(string) string) *suiteNames {
	n := &suiteNames{mask: mask, seed: maphash.MakeSeed(), often: map[uint64]bool{}}
	n.note(OwnSuite, true)
	return n
}

// note counts a suite that has the name, before it is masked, or any number of them.
func (n *suiteNames) note(name string, often bool) {
	if n.mask != nil && name != "" {
		name = n.mask(name)
	}
	h := maphash.String(n.seed, name)
	n.mu.Lock()
	defer n.mu.Unlock()
	_, known := n.often[h]
	n.often[h] = known || often
}

// repeat says whether there may be another suite of the name, as it is written.
func (n *suiteNames) repeat(name string) bool {
	often, known := n.often[maphash.String(n.seed, name)]
	return often || !known
}
