package boxer_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPlainProject: a project with no boxer.yaml and no report is run as it is, and its exit codes decide.
func TestPlainProject(t *testing.T) {
	asEach(t, func(t *testing.T, uid int) {
		p := newPerson(t, uid, "")
		p.write("package.json", `{"scripts": {"test": "node check.js"}}`)
		p.write("check.js", `if (!process.argv[2].match(/^--shard=[1-4]\/4$/)) process.exit(1)`)
		p.commit()
		r := p.shard(0, "--count", "4", "--", "npm", "test", "--", "--shard=<i>/4")
		if len(r.Shards) != 4 || !strings.Contains(r.Ledger.Line, "not checked: no report") {
			t.Errorf("%+v", r)
		}
		p.clean()
		p.nothingLeft()
	})
}

// TestEditBetweenRuns: with a sandbox that stays up, every run sees the files as they are now, however an editor
// saves them, and what a command left running is in every child.
func TestEditBetweenRuns(t *testing.T) {
	asEach(t, func(t *testing.T, uid int) {
		p := newPerson(t, uid, "")
		p.write("in-place", "1")
		p.write("by-rename", "1")
		p.commit()
		p.must("boxer", "up")
		since := p.must("boxer", "run", "-c", "cat /proc/sys/kernel/random/boot_id; cat /proc/1/stat | cut -d' ' -f22")
		p.must("boxer", "run", "-c", "redis-server --port 7001 --save '' --daemonize yes")
		for _, text := range []string{"1", "2"} {
			p.write("in-place", text)
			p.write("new", text)
			if err := os.Rename(filepath.Join(p.project, "new"), filepath.Join(p.project, "by-rename")); err != nil {
				t.Fatal(err)
			}
			p.shard(0, "--count", "2", "--", "sh", "-c", "grep -qx "+text+" in-place && grep -qx "+text+" by-rename && redis-cli -p 7001 ping")
		}
		if now := p.must("boxer", "run", "-c", "cat /proc/sys/kernel/random/boot_id; cat /proc/1/stat | cut -d' ' -f22"); now != since {
			t.Errorf("the sandbox was restarted: %q, then %q", since, now)
		}
		names := strings.Fields(p.must("boxer", "fork", "--count", "2"))
		if len(names) != 2 {
			t.Fatalf("fork prints %q", names)
		}
		for _, name := range names {
			if got := p.must("boxer", "run", "--scope", name, "-c", "redis-cli -p 7001 ping"); got != "PONG" {
				t.Errorf("%s answers %q", name, got)
			}
		}
		p.must("boxer", "down")
		p.nothingLeft()
	})
}

// write puts a file into the project, as the person himself would.
func (p *person) write(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.project, name)
	if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
		p.t.Fatal(err)
	}
	chown(p.t, path, p.uid)
}
