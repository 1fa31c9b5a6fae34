package report

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/maphash"
)

// key is a hash that stands for a test: a million names need not be kept, and no test can be made to look like another.
type key [16]byte

func hash(parts ...string) key {
	var buf [512]byte
	text := buf[:0]
	for _, part := range parts {
		text = append(append(text, part...), 0) // no cleaned text holds a zero byte
	}
	sum := sha256.Sum256(text)
	return key(sum[:])
}

func (k key) short() uint64 { return binary.LittleEndian.Uint64(k[:]) }

// identity is what makes a case the same test in another attempt or shard. The hostname belongs to it: Playwright puts
// its project there.
func (r *record) identity(hostname string) key {
	return hash(r.Suite, hostname, r.Classname, r.Name, r.File)
}

// ordinals tells apart the cases of one identity in one attempt: the k-th of them is its own test.
type ordinals map[key]int

func (o ordinals) next(k key) key {
	o[k]++
	if n := o[k]; n > 1 {
		return hash(string(k[:]), fmt.Sprint(n))
	}
	return k
}

// naming gives each case of the merged report a name of its own: of two that share suite, class and name, GitLab shows
// one.
type naming struct {
	suites       *suiteNames
	seed         maphash.Seed   // another one in each merge, so nobody can make many hashes fall together
	shared       *hashSet       // names given in suites of which there is more than one
	alone        *hashSet       // names given in the suite being written, if no other has its name, and in a few before
	given, limit int            // how many alone holds, and may hold when a suite begins
	taken        *hashSet       // the one of the two that counts
	next         map[uint64]int // number to try next behind a name that came often
}

// often is from when on it is worth to keep count: a million names may come twice.
const often = 8

func newNaming(suites *suiteNames, limit int) *naming {
	return &naming{suites: suites, limit: limit, seed: maphash.MakeSeed(), shared: &hashSet{}, alone: &hashSet{}, next: map[uint64]int{}}
}

// begin goes on to the cases of a suite, or of its next part. What was given in a suite that stands alone need not be
// kept after it, so a report of many suites needs little memory.
func (n *naming) begin(s *suite) {
	switch {
	case n.suites.repeat(s.name):
		n.taken = n.shared
		return
	case !s.begun && n.given > n.limit:
		n.alone, n.given = &hashSet{}, 0
	}
	n.taken = n.alone
	n.given += len(s.cases)
}

func (n *naming) name(r *record) string {
	base := n.hash(r, r.Name)
	if n.taken.add(base) {
		return r.Name
	}
	for i := max(n.next[base], 2); ; i++ {
		name := fmt.Sprintf("%s [%d]", r.Name, i)
		if n.taken.add(n.hash(r, name)) {
			if i > often {
				n.next[base] = i + 1
			}
			return name
		}
	}
}

func (n *naming) hash(r *record, name string) uint64 {
	var h maphash.Hash
	h.SetSeed(n.seed)
	for _, part := range [...]string{r.Suite, r.Classname, name} {
		h.WriteString(part)
		h.WriteByte(0) // no cleaned text holds one
	}
	return h.Sum64()
}
