package main

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// hub is a local stand-in for the releases on GitHub: their addresses, with an archive whose boxer is a script.
type hub struct {
	files map[string]string // by path
	url   string
}

func newHub(t *testing.T) *hub {
	t.Helper()
	h := &hub{files: map[string]string{}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rest, ok := strings.CutPrefix(r.URL.Path, "/latest/download/"); ok { // as GitHub does it
			http.Redirect(w, r, "/download/v0.2.0/"+rest, http.StatusFound)
			return
		}
		text, ok := h.files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Write([]byte(text))
	}))
	t.Cleanup(s.Close)
	h.url = s.URL
	for _, version := range []string{"0.1.0", "0.2.0"} {
		h.publish(t, version)
	}
	return h
}

// publish puts up the archive of every platform.
func (h *hub) publish(t *testing.T, version string) {
	t.Helper()
	var sums strings.Builder
	for _, to := range targets {
		r := release{Version: version}
		archive := filepath.Join(t.TempDir(), r.name(to))
		script := "#!/bin/sh\necho boxer v" + version + " for " + to.String() + "\n"
		sum, err := write(archive, []file{{"boxer", []byte(script), 0o755}, {"LICENSE", nil, 0o644}}, time.Unix(0, 0))
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(archive)
		if err != nil {
			t.Fatal(err)
		}
		h.files["/download/v"+version+"/"+r.name(to)] = string(text)
		sums.WriteString(sum + "  " + r.name(to) + "\n")
	}
	h.files["/download/v"+version+"/checksums.txt"] = sums.String()
}

// machine is where the script runs: its PATH has these programs and no others.
type machine struct{ path, home string }

func newMachine(t *testing.T, programs ...string) machine {
	t.Helper()
	m := machine{t.TempDir(), t.TempDir()}
	for _, name := range append(programs, "sh", "cut", "uname", "id", "mktemp", "rm", "grep", "wc", "tar", "gzip", "mkdir", "cp", "chmod", "mv") {
		found, err := exec.LookPath(name)
		if err != nil {
			t.Fatalf("%v: apt-get install curl wget openssl", err)
		}
		if err := os.Symlink(found, filepath.Join(m.path, name)); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// is makes uname say another platform.
func (m machine) is(t *testing.T, system, processor string) {
	t.Helper()
	name := filepath.Join(m.path, "uname")
	os.Remove(name)
	script := "#!/bin/sh\ncase $1 in -s) echo " + system + ";; -m) echo " + processor + ";; esac\n"
	if err := os.WriteFile(name, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
}

// install runs the script as `curl ... | sh -s -- ARGS` does.
func (m machine) install(t *testing.T, h *hub, args ...string) (output string, ok bool) {
	t.Helper()
	script, err := os.Open("../install.sh")
	if err != nil {
		t.Fatal(err)
	}
	defer script.Close()
	c := exec.Command(filepath.Join(m.path, "sh"), append([]string{"-s", "--"}, args...)...)
	c.Stdin, c.Dir = script, m.home
	c.Env = []string{"PATH=" + m.path, "HOME=" + m.home, "TMPDIR=" + m.home, "BOXER_RELEASES=" + h.url, "no_proxy=127.0.0.1"}
	out, err := c.CombinedOutput()
	if left, _ := filepath.Glob(filepath.Join(m.home, "tmp.*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	return string(out), err == nil
}

func TestShellcheck(t *testing.T) {
	t.Parallel()
	if out, err := exec.Command("shellcheck", "../install.sh").CombinedOutput(); err != nil {
		t.Errorf("%v (apt-get install shellcheck)\n%s", err, out)
	}
}

func TestInstall(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	for _, c := range []struct {
		name     string
		programs []string
		args     []string
		want     string
	}{
		{"the newest, by curl", []string{"curl", "sha256sum"}, nil, "boxer v0.2.0 for linux/amd64"},
		{"the newest, by wget", []string{"wget", "sha256sum"}, nil, "boxer v0.2.0 for linux/amd64"},
		{"an older one", []string{"curl", "sha256sum"}, []string{"--version", "0.1.0"}, "boxer v0.1.0 for linux/amd64"},
		{"by its tag, with openssl", []string{"wget", "openssl"}, []string{"--version", "v0.1.0"}, "boxer v0.1.0 for linux/amd64"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, c.programs...)
			m.is(t, "Linux", "x86_64")
			to := filepath.Join(m.home, "a folder", "bin")
			out, ok := m.install(t, h, append(c.args, "--to", to)...)
			if !ok || !strings.Contains(out, "not on your PATH") {
				t.Fatalf("%t\n%s", ok, out)
			}
			got, err := exec.Command(filepath.Join(to, "boxer")).Output()
			if err != nil || strings.TrimSpace(string(got)) != c.want {
				t.Errorf("%q, want %q (%v)", got, c.want, err)
			}
		})
	}
}

func TestInstallPlatforms(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	for _, c := range []struct{ system, processor, want string }{
		{"Linux", "aarch64", "boxer v0.2.0 for linux/arm64"},
		{"Darwin", "arm64", "boxer v0.2.0 for darwin/arm64"},
		{"Darwin", "x86_64", "no boxer for macOS on Intel"},
		{"Linux", "riscv64", "no boxer for riscv64 processors"},
		{"FreeBSD", "amd64", "no boxer for FreeBSD"},
	} {
		m := newMachine(t, "curl", "sha256sum")
		m.is(t, c.system, c.processor)
		out, ok := m.install(t, h, "--to", m.home)
		if ok {
			b, err := exec.Command(filepath.Join(m.home, "boxer")).Output()
			if err != nil {
				t.Error(err)
			}
			out += string(b)
		}
		if !strings.Contains(out, c.want) || ok != strings.HasPrefix(c.want, "boxer") {
			t.Errorf("%s %s: %t\n%s", c.system, c.processor, ok, out)
		}
	}
}

// TestInstallRefuses: whatever is wrong, the boxer that was there before stays as it was.
func TestInstallRefuses(t *testing.T) {
	t.Parallel()
	const asset = "/download/v0.2.0/boxer_0.2.0_linux_amd64.tar.gz"
	for _, c := range []struct {
		name     string
		programs []string
		args     []string
		spoil    func(h *hub)
		want     string
	}{
		{"a wrong checksum", []string{"curl", "sha256sum"}, nil, func(h *hub) { h.files[asset] += "x" }, "is not what checksums.txt says"},
		{"an archive cut short", []string{"wget", "sha256sum"}, nil, func(h *hub) { h.files[asset] = h.files[asset][:20] }, "is not what checksums.txt says"},
		{"a missing asset, by curl", []string{"curl", "sha256sum"}, nil, func(h *hub) { delete(h.files, asset) }, "cannot download"},
		{"a missing asset, by wget", []string{"wget", "sha256sum"}, nil, func(h *hub) { delete(h.files, asset) }, "cannot download"},
		{"a missing release", []string{"curl", "sha256sum"}, []string{"--version", "9.9.9"}, nil, "cannot download"},
		{"no line for it", []string{"curl", "sha256sum"}, nil, func(h *hub) { h.files["/download/v0.2.0/checksums.txt"] = "" }, "names no archive for linux/amd64"},
		{"a page instead of checksums", []string{"curl", "sha256sum"}, nil, func(h *hub) { h.files["/download/v0.2.0/checksums.txt"] = "<html>sign in</html>" }, "names no archive"},
		{"no boxer in it", []string{"curl", "sha256sum"}, nil, func(h *hub) { spoilArchive(h, asset) }, "there is no boxer in"},
		{"nothing to compare with", []string{"curl"}, nil, nil, "nothing is installed unchecked"},
		{"nothing to download with", []string{"sha256sum"}, nil, nil, "neither curl nor wget"},
		{"an unknown argument", []string{"curl", "sha256sum"}, []string{"--prefix", "/"}, nil, "unknown argument --prefix"},
		{"no value", []string{"curl", "sha256sum"}, []string{"--version"}, nil, "--version needs a value"},
		{"a version that is none", []string{"curl", "sha256sum"}, []string{"--version", "../x"}, nil, "give one as 0.1.0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHub(t)
			if c.spoil != nil {
				c.spoil(h)
			}
			m := newMachine(t, c.programs...)
			m.is(t, "Linux", "x86_64")
			to := filepath.Join(m.home, "bin")
			if err := os.Mkdir(to, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(to, "boxer"), []byte("old"), 0o755); err != nil {
				t.Fatal(err)
			}
			out, ok := m.install(t, h, append([]string{"--to", to}, c.args...)...)
			if ok || !strings.Contains(out, c.want) || !strings.HasPrefix(lastRefusal(out), "install.sh: ") {
				t.Errorf("%t, want %q\n%s", ok, c.want, out)
			}
			entries, err := os.ReadDir(to)
			if err != nil || len(entries) != 1 {
				t.Errorf("%v (%v)", entries, err)
			}
			if old, err := os.ReadFile(filepath.Join(to, "boxer")); err != nil || string(old) != "old" {
				t.Errorf("boxer is now %q (%v)", old, err)
			}
		})
	}
}

// spoilArchive puts up an archive without a program, with the checksum that belongs to it.
func spoilArchive(h *hub, asset string) {
	sums := "/download/v0.2.0/checksums.txt"
	name := filepath.Base(asset)
	old := sumOf(h.files[sums], name)
	h.files[asset] = "no archive at all"
	sum := sha256.Sum256([]byte(h.files[asset]))
	h.files[sums] = strings.Replace(h.files[sums], old, hex.EncodeToString(sum[:]), 1)
}

// lastRefusal is the script's own line among what the programs it starts print.
func lastRefusal(out string) string {
	i := strings.LastIndex(out, "install.sh: ")
	return out[max(i, 0):]
}
