package ci_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// template is what is read of the GitLab template.
type template struct {
	inputs  map[string]struct{ Default yaml.Node }
	install string // the script
	after   string // after_script
}

func readTemplate(t *testing.T) template {
	t.Helper()
	f, err := os.Open("../examples/gitlab/boxer.yml")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var header struct {
		Spec struct {
			Inputs map[string]struct{ Default yaml.Node }
		}
	}
	var jobs map[string]yaml.Node
	d := yaml.NewDecoder(f)
	if err := errors.Join(d.Decode(&header), d.Decode(&jobs)); err != nil {
		t.Fatal(err)
	}
	var hidden struct {
		Script []string
		After  []string `yaml:"after_script"`
	}
	node := jobs[".$[[ inputs.job-name ]]-install"]
	if err := node.Decode(&hidden); err != nil {
		t.Fatal(err)
	}
	return template{header.Spec.Inputs, hidden.Script[0], hidden.After[0]}
}

// TestGitLabInputs: the README's table has each input and none besides, and inputs are in no script.
func TestGitLabInputs(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(b), "\n## In GitLab CI\n")
	_, table, _ := strings.Cut(section, "\n| --- | --- | --- |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var told, have []string
	for line := range strings.SplitSeq(table, "\n") {
		for _, name := range regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(strings.Split(line, "|")[1], -1) {
			told = append(told, name[1])
		}
	}
	for name := range readTemplate(t).inputs {
		have = append(have, name)
	}
	for _, name := range []string{"command", "count", "tests", "list", "setup", "env", "junit", "artifacts", "backend", "worktree", "retries", "timeout"} {
		if d := readTemplate(t).inputs[name].Default; d.Value != "" || d.Tag != "!!str" {
			t.Errorf("input %s is %q where nobody gives it, and so wins over boxer.yaml", name, d.Value)
		}
	}
	slices.Sort(told)
	slices.Sort(have)
	if !slices.Equal(told, have) {
		t.Errorf("the README tells of %q, the template has %q", told, have)
	}
	text, err := os.ReadFile("../examples/gitlab/boxer.yml")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "      ") && strings.Contains(line, "$[[") && !strings.HasPrefix(line, "      junit:") {
			t.Errorf("an input is in a script: %s", line)
		}
	}
}

// TestGitLabInstall runs the template's installation as the shells of images do, with what images have.
func TestGitLabInstall(t *testing.T) {
	t.Parallel()
	template := readTemplate(t)
	const stub = "#!/bin/sh\necho stub \"$@\"\n"
	served := publish(t, stub)
	// A Go that fails tells that it was asked; the real one builds boxer in TestGitLabReadme.
	fakeGo := `echo "go $CGO_ENABLED $GOBIN $*"; printf '#!/bin/sh\necho built "$@"\n' >"$GOBIN/boxer"; chmod +x "$GOBIN/boxer"`
	for _, row := range []struct {
		name, version, sum string
		programs           string // besides those that every image has
		code               int
		prints             string // a part of what it prints; HOME stands for the folder
	}{
		{"with curl", "9.9.9", served.sum, "curl", 0, "stub version\n"},
		{"with wget", "9.9.9", served.sum, "wget", 0, "stub version\n"},
		{"another archive", "9.9.9", strings.Repeat("1", 64), "curl", 125, "boxer: " + asset("9.9.9") + " is not what was released"},
		{"another archive, although there is Go", "9.9.9", strings.Repeat("1", 64), "curl go", 125, "its SHA-256 is not 1111"},
		{"not released", "9.9.9", "", "curl go", 0, "this template has no checksum of " + asset("9.9.9") + ": building v9.9.9 from source\n" +
			"go 0 HOME install github.com/boxer-ci/boxer/cmd/boxer@v9.9.9\nbuilt version\n"},
		{"a branch", "main", "", "curl go", 0, "install github.com/boxer-ci/boxer/cmd/boxer@main\n"},
		{"not there", "9.9.8", served.sum, "curl go", 0, served.url + "/download/v9.9.8/" + asset("9.9.8") + " cannot be fetched: building v9.9.8 from source"},
		{"not there for wget", "9.9.8", served.sum, "wget go", 0, "cannot be fetched: building v9.9.8 from source"},
		{"nothing to fetch with", "9.9.9", served.sum, "go", 0, "there is neither curl nor wget\n"},
		{"nothing at all", "9.9.9", served.sum, "", 125, "and there is no Go to build it with: take an image that has curl or wget, or Go\n"},
		{"not released, without Go", "9.9.9", "", "curl", 125, "boxer: this template has no checksum of " + asset("9.9.9") + ", and there is no Go"},
		{"shell in the version", "$(touch hacked)`touch hacked`", served.sum, "curl", 125, "cannot be fetched"},
	} {
		for _, shell := range []string{"dash", "bash", "busybox sh"} {
			t.Run(row.name+" in "+shell, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				home := filepath.Join(dir, "home")
				words := strings.Fields(shell)
				path := debian(t, words[0])
				image(t, filepath.Join(dir, "bin"), words[0], strings.Fields(row.programs), fakeGo)
				start := func(script string) (int, string) {
					c := exec.Command(path, append(words[1:], "-ec", script)...)
					c.Dir = dir
					c.Env = []string{
						"PATH=" + filepath.Join(dir, "bin"), "BOXER_HOME=" + home, "BOXER_VERSION=" + row.version, "BOXER_MIRROR=" + served.url + "/download",
						"BOXER_SHA256_LINUX_AMD64=" + row.sum, "BOXER_SHA256_LINUX_ARM64=" + row.sum,
					}
					out, _ := c.CombinedOutput()
					return c.ProcessState.ExitCode(), string(out)
				}
				code, out := start(template.install)
				if code != row.code || !strings.Contains(out, strings.ReplaceAll(row.prints, "HOME", home)) {
					t.Errorf("exit code %d, want %d; it prints\n%s", code, row.code, out)
				}
				if _, err := os.Stat(filepath.Join(home, "archive")); err == nil && code == 0 {
					t.Error("the archive is left")
				}
				code, out = start(template.after)
				if code != 0 || row.code == 0 && !strings.Contains(out, " gc\n") {
					t.Errorf("after_script: exit code %d\n%s", code, out)
				}
				if left, _ := filepath.Glob(filepath.Join(dir, "h*")); len(left) > 0 {
					t.Errorf("left: %q", left)
				}
			})
		}
	}
}

// image is a folder for PATH with what every image has and some programs besides; that of busybox has busybox for all
// but curl and Go.
func image(t *testing.T, bin, shell string, programs []string, fakeGo string) {
	t.Helper()
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range append([]string{"sh", "cat", "chmod", "gzip", "mkdir", "rm", "sha256sum", "tar", "touch", "uname"}, programs...) {
		if name == "go" {
			writeFile(t, filepath.Join(bin, name), "#!/bin/sh\n"+fakeGo+"\n")
			continue
		}
		program := name
		if shell == "busybox" && name != "curl" {
			program = shell
		}
		path, err := exec.LookPath(program)
		if err == nil {
			err = os.Symlink(path, filepath.Join(bin, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestGitLabInstallElsewhere: a machine for which there is no boxer is told so.
func TestGitLabInstallElsewhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "bin/uname"), "#!/bin/sh\necho Plan9\n")
	c := exec.Command("sh", "-ec", readTemplate(t).install)
	c.Env = []string{"PATH=" + filepath.Join(dir, "bin"), "BOXER_HOME=" + filepath.Join(dir, "home")}
	out, _ := c.CombinedOutput()
	if c.ProcessState.ExitCode() != 125 || !strings.Contains(string(out), "there is none for Plan9 Plan9: take a runner with Linux on amd64 or arm64") {
		t.Errorf("exit code %d on %s\n%s", c.ProcessState.ExitCode(), runtime.GOARCH, out)
	}
}

// TestGitLabScripts: shellcheck finds nothing in the template's scripts.
func TestGitLabScripts(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../examples/gitlab/boxer.yml")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile(`(?m)^    - \|\n((?:      .*\n|\n)+)`).FindAllSubmatch(text, -1)
	if len(blocks) != 4 {
		t.Fatalf("there are %d scripts", len(blocks))
	}
	for _, b := range blocks {
		c := exec.Command(debian(t, "shellcheck"), "--shell=sh", "--exclude=SC2016,SC2154,SC3067", "-") // a script in quotes, GitLab's variables, -O
		stdin, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			io.WriteString(stdin, regexp.MustCompile(`(?m)^      `).ReplaceAllString(string(b[1]), ""))
			stdin.Close()
		}()
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
}
