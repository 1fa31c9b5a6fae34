package report

import "math/bits"

// hashSet holds the hashes of a million names in some 11 bytes each, and grows by small steps: a map takes twice that,
// and for a moment three times, while it grows. It is cut into parts that grow by themselves, by a quarter, at most 4/5
// full. The hashes must be such that nobody can make many of them fall together.
type hashSet struct {
	parts [256]hashPart
	zero  bool // 0 marks a free place
}

type hashPart struct {
	places []uint64
	n      int
}

// add says whether the hash is new.
func (s *hashSet) add(h uint64) bool {
	if h == 0 {
		fresh := !s.zero
		s.zero = true
		return fresh
	}
	return s.parts[h>>56].add(h)
}

func (p *hashPart) add(h uint64) bool {
	if 5*(p.n+1) > 4*len(p.places) {
		p.grow()
	}
	if !p.put(h) {
		return false
	}
	p.n++
	return true
}

// put finds the place that the hash has, or a free one from there on.
func (p *hashPart) put(h uint64) bool {
	at, _ := bits.Mul64(h<<8, uint64(len(p.places)))
	for i := int(at); ; i++ {
		if i == len(p.places) {
			i = 0
		}
		switch p.places[i] {
		case 0:
			p.places[i] = h
			return true
		case h:
			return false
		}
	}
}

func (p *hashPart) grow() {
	old := p.places
	p.places = make([]uint64, len(old)+max(len(old)/4, 8))
	for _, h := range old {
		if h != 0 {
			p.put(h)
		}
	}
}
