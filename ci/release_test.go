package ci_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
)

// release is a place that serves one archive, as the releases page would.
type release struct {
	url   string
	sum   string // of the archive, as the checksums file would have it
	asked atomic.Int32
}

// asset is the archive's name.
func asset(version string) string {
	return "boxer_" + version + "_" + runtime.GOOS + "_" + runtime.GOARCH + ".tar.gz"
}

// publish serves a program as boxer 9.9.9.
func publish(t *testing.T, program string) *release {
	t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	files := tar.NewWriter(zip)
	if err := files.WriteHeader(&tar.Header{Name: "boxer", Mode: 0o755, Size: int64(len(program))}); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(files, program)
	files.Close()
	zip.Close()
	sum := sha256.Sum256(b.Bytes())
	r := &release{sum: hex.EncodeToString(sum[:])}
	mux := http.NewServeMux()
	mux.HandleFunc("/download/v9.9.9/"+asset("9.9.9"), func(w http.ResponseWriter, _ *http.Request) {
		r.asked.Add(1)
		w.Write(b.Bytes())
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

// pin writes the checksums file of the action.
func (m *machine) pin(version, sum string) {
	m.t.Helper()
	writeFile(m.t, filepath.Join(m.action, "release/checksums.txt"),
		"# comment\n"+strings.Repeat("0", 64)+"  boxer_"+version+"_plan9_mips.tar.gz\n"+sum+"  "+asset(version)+"\n")
}

// TestInstall runs the script that puts boxer on PATH, with a release, without one, and with one that is another.
func TestInstall(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "")
	const stub = "#!/bin/sh\necho stub \"$@\"\n"
	wrong := strings.Repeat("1", 64)
	for _, row := range []struct {
		name, version string
		pinned        string // version in the checksums file
		sum           string // "" is the right one
		path          string // "" is that of the test
		code          int
		asked         int32
		prints        string // a part of what it prints
	}{
		{"the release of this commit", "", "9.9.9", "", "", 0, 1, "stub version"},
		{"the same by name", "v9.9.9", "9.9.9", "", "", 0, 1, "stub version"},
		{"another archive", "", "9.9.9", wrong, "", 1, 1, "::error title=boxer::" + asset("9.9.9") + " is not the one"},
		{"another version", "1.0.0", "9.9.9", "", "", 1, 0, "pin the action to the commit of v1.0.0"},
		{"a version that is shell", "$(touch hacked)", "9.9.9", "", "", 1, 0, "has no checksum"},
		{"from source", "source", "9.9.9", "", "", 0, 0, "boxer devel"},
		{"an archive that is not there", "", "9.9.8", "", "", 0, 0, "cannot be downloaded: boxer is built from source"},
		{"no Go either", "", "9.9.8", "", without(t, "go"), 1, 0, "no Go to build it: add actions/setup-go"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := publish(t, stub)
			if row.sum == "" {
				row.sum = r.sum
			}
			m.pin(row.pinned, row.sum)
			temp := t.TempDir()
			c := exec.Command(filepath.Join(m.action, ".github/action/install.sh"))
			c.Dir = temp
			c.Env = append(append(os.Environ(), m.env...), "RUNNER_TEMP="+temp, "GITHUB_PATH="+temp+"/path", "GITHUB_OUTPUT="+temp+"/output",
				"GITHUB_WORKFLOW=w", "GITHUB_JOB=j", "MATRIX=null", "INPUT_WORKING_DIRECTORY=", "INPUT_COMMAND=", "INPUT_TESTS=", "INPUT_LIST=",
				"BOXER_RELEASES="+r.url, "INPUT_VERSION="+row.version, "GOFLAGS=-mod=vendor", "GOOS=plan9")
			if row.path != "" {
				c.Env = append(c.Env, "PATH="+row.path)
			}
			out, _ := c.CombinedOutput()
			if c.ProcessState.ExitCode() != row.code || !strings.Contains(string(out), row.prints) || r.asked.Load() != row.asked {
				t.Errorf("exit code %d, asked for %d archives, printed\n%s", c.ProcessState.ExitCode(), r.asked.Load(), out)
			}
			path, _ := os.ReadFile(temp + "/path")
			_, err := os.Stat(temp + "/boxer-bin/boxer")
			if installed := err == nil; installed != (row.code == 0) || (string(path) == temp+"/boxer-bin\n") != installed {
				t.Errorf("installed: %v; the path file holds %q", installed, path)
			}
			if left, _ := filepath.Glob(temp + "/*install*"); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
			if _, err := os.Stat(temp + "/hacked"); err == nil {
				t.Error("an input was run")
			}
		})
	}
}

// without is a PATH that has what scripts need, but for one program.
func without(t *testing.T, missing string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{
		"bash", "sh", "sed", "head", "uname", "mkdir", "mktemp", "tar", "gzip", "sha256sum", "cut", "curl", "rm", "chmod", "mv", "dirname",
		"env", "cat", "id", "true", "printf", "unshare", "sysctl", "udevadm", "tee",
	} {
		path, err := exec.LookPath(name)
		if err != nil || name == missing {
			continue
		}
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
