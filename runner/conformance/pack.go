package conformance

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"

	"github.com/boxer-ci/boxer/runner"
)

var packQuestions = []question{
	{"a sandbox from a pack is prepared without being prepared again", askPacked},
	{"a pack leaves the sandbox as it is and takes none of the hidden places", askPackHidden},
	{"a pack is refused where a sandbox runs", askPackedRunning},
	{"a stream that is no pack is refused and leaves nothing", askNoPack},
}

// outside is a file that no worktree holds, told apart from those of other tests.
func (b *bench) outside() string { return filepath.Join("/var/tmp", "conformance-"+b.Scope.Key) }

func (b *bench) pack(s runner.Session) (*bytes.Buffer, runner.Packed) {
	b.Helper()
	if h, ok := s.(runner.Halter); ok {
		b.ok(h.Halt(b.ctx()))
	}
	var stream bytes.Buffer
	packed, err := s.(runner.Packer).Pack(b.ctx(), &stream)
	b.ok(err)
	return &stream, packed
}

func (b *bench) unpack(stream *bytes.Buffer, packed runner.Packed, change func(*runner.Spec)) (runner.Session, error) {
	from := runner.PackStream{From: stream, Size: int64(stream.Len()), LastPID: packed.LastPID}
	s, err := b.Backend.(runner.Unpacker).StartPacked(b.ctx(), b.Scope, b.spec(change), from, nil)
	if err == nil {
		b.Cleanup(func() { s.Close(); b.down() })
	}
	return s, err
}

func askPacked(b *bench) {
	note := func(what string) string { return "echo " + what + " >>" + b.outside() }
	spec := func(spec *runner.Spec) {
		spec.Services = []runner.Service{{Name: "one", Init: note("init"), Run: note("run") + "; touch up; exec sleep 1000", Ready: "test -e up"}}
		spec.Setup = []runner.SetupStep{{Run: note("setup")}}
	}
	s := b.start(spec)
	stream, packed := b.pack(s)
	if packed.Root.Entries == 0 || packed.Worktree != nil || len(packed.Spec.Services) != 1 || packed.Spec.Env != nil {
		b.Errorf("%+v", packed)
	}
	b.ok(errors.Join(s.Down(b.ctx()), s.Close(), os.Remove(b.path("up"))))
	s, err := b.unpack(stream, packed, spec)
	b.ok(err)
	equal(b, "was done", b.sh(s, "", "cat "+b.outside()), "init\nrun\nsetup\nrun")
	again := b.start(spec)
	equal(b, "started again", again.Started(), false)
	if f, ok := s.(runner.Forker); ok {
		options := runner.ForkOptions{Worktree: runner.Private}
		if b.OneKind {
			options.Worktree = runner.Live
		}
		source, err := f.Freeze(b.ctx(), options)
		b.ok(err)
		child, err := source.Fork(b.ctx())
		b.ok(err)
		equal(b, "in a child", b.sh(s, child.Key, "cat "+b.outside()), "init\nrun\nsetup\nrun")
	}
}

func askPackHidden(b *bench) {
	hidden := b.outside() + ".hidden"
	s := b.start(func(spec *runner.Spec) { spec.Hide = []string{hidden} })
	b.sh(s, "", "echo secret >"+hidden+"; echo plain >"+b.outside())
	stream, packed := b.pack(s)
	equal(b, "left out", len(packed.LeftOut), 1)
	equal(b, "the secret", bytes.Contains(stream.Bytes(), []byte("secret\n")), false)
	equal(b, "the rest", bytes.Contains(stream.Bytes(), []byte("plain\n")), true)
	equal(b, "in the sandbox", b.sh(s, "", "cat "+hidden), "secret")
}

func askPackedRunning(b *bench) {
	s := b.start(nil)
	stream, packed := b.pack(s)
	_, err := b.unpack(stream, packed, nil)
	b.refused(err, runner.AlreadyRunning)
	equal(b, "the first", b.sh(s, "", "echo lives"), "lives")
}

func askNoPack(b *bench) {
	_, err := b.unpack(bytes.NewBufferString("this is no tar stream, however long it goes on"), runner.Packed{}, nil)
	equal(b, "the cause", runner.CauseOf(err), runner.PackDamaged)
	_, err = b.Backend.Attach(b.ctx(), b.Scope)
	b.refused(err, runner.NotRunning)
}
