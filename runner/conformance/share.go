package conformance

import "os"

var shareQuestions = []question{
	{"children share files and network with the parent", askShared},
	{"a removed child takes every process with it and no other", askSharedRemoval},
	{"a process without the mark is found all the same", askScrubbed},
}

func askShared(b *bench) {
	s := b.start(nil)
	children := b.children(s, 2)
	b.sh(s, children[0].Key, "echo 1 >seen")
	equal(b, "in the other child", b.sh(s, children[1].Key, "cat seen"), "1")
	equal(b, "in the parent", b.sh(s, "", "cat seen"), "1")
	text, err := os.ReadFile(b.path("seen"))
	b.ok(err)
	equal(b, "on the host", string(text), "1\n")
}

func askSharedRemoval(b *bench) {
	s := b.start(nil)
	children := b.children(s, 2)
	parent := b.daemon(s, "")
	mine := []*held{b.daemon(s, children[0].Key), b.daemon(s, children[0].Key)}
	other := b.daemon(s, children[1].Key)
	b.ok(s.Remove(b.ctx(), children[0].Key))
	for _, h := range mine {
		h.gone(b)
	}
	other.lives(b)
	parent.lives(b)
}

// askScrubbed leaves a process behind whose environment was emptied: by its session it is known, and what left that
// as well is known by its parent.
func askScrubbed(b *bench) {
	s := b.start(nil)
	c := b.children(s, 1)[0]
	h := b.held()
	cmd := shell(`env -i /bin/sh -c 'echo up >&2; /usr/bin/setsid /bin/sleep 1000 & wait' >/dev/null & exec >/dev/null`)
	cmd.Stderr = h.w
	_, err := b.run(s, c.Key, cmd)
	b.ok(err)
	h.line(b, "up")
	b.ok(s.Remove(b.ctx(), c.Key))
	h.gone(b)
}
