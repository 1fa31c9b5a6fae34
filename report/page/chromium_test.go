package page

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// browser opens pages in a real headless Chromium. Its tests do not run at once: each keeps the processors busy. A probe is a script of the test's that looks at the page from inside
// and answers; the page's policy admits it by its hash and stays as it is otherwise.
type browser struct {
	t       *testing.T
	dir     string // where the page and its pictures lie
	server  *httptest.Server
	answers chan []byte

	mu   sync.Mutex
	seen []string // what was asked of the network, but for the answer
}

func newBrowser(t *testing.T) *browser {
	b := &browser{t: t, dir: t.TempDir(), answers: make(chan []byte, 1)}
	b.server = httptest.NewServer(b)
	t.Cleanup(b.server.Close)
	return b
}

func (b *browser) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		answer, _ := io.ReadAll(r.Body)
		select {
		case b.answers <- answer:
		default:
		}
		return
	}
	b.mu.Lock()
	b.seen = append(b.seen, r.URL.Path)
	b.mu.Unlock()
	http.FileServer(http.Dir(b.dir)).ServeHTTP(w, r)
}

func (b *browser) requests() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.seen...)
}

// ask opens the page from disk and decodes into answer what the probe, the body of an async function, returns.
func (b *browser) ask(page, probe string, answer any) {
	b.t.Helper()
	b.put(page, probe)
	b.open("file://"+filepath.Join(b.dir, "index.html"), answer)
}

// askWarm opens it from another page, in a browser that has started already.
func (b *browser) askWarm(page, probe string, answer any) {
	b.t.Helper()
	b.put(page, probe)
	start := filepath.Join(b.dir, "start.html")
	const text = `<title>start</title><script>addEventListener('load', () => setTimeout(() => { location = 'index.html' }, 300))</script>`
	if err := os.WriteFile(start, []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
	b.open("file://"+start, answer)
}

// askServed does the same over HTTP.
func (b *browser) askServed(page, probe string, answer any) {
	b.t.Helper()
	b.put(page, probe)
	b.open(b.server.URL+"/", answer)
}

func (b *browser) put(page, probe string) {
	b.t.Helper()
	js := `addEventListener('load', async () => {
		let answer;
		try { answer = await (async () => {` + probe + `})() } catch (e) { answer = {Fault: String(e)} }
		fetch('` + b.server.URL + `', {method: 'POST', mode: 'no-cors', body: JSON.stringify(answer)});
	});`
	sum := sha256.Sum256([]byte(js))
	hash := escaped("'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'")
	page = strings.Replace(page, "; script-src ", "; connect-src "+b.server.URL+"; script-src "+hash+" ", 1)
	page = strings.Replace(page, "</body>", "<script>"+js+"</script></body>", 1)
	if err := os.WriteFile(filepath.Join(b.dir, "index.html"), []byte(page), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *browser) open(address string, answer any) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 4*time.Minute)
	defer cancel()
	home := b.home()
	cmd := exec.Command(chromium(b.t), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-breakpad", "--disable-crash-reporter",
		"--user-data-dir="+home, address)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var said strings.Builder
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &said, &said, 5*time.Second
	cmd.Env = append(os.Environ(), "HOME="+home)
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		cmd.Wait()
	}()
	defer func() {
		cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(5 * time.Second):
		}
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-ended
	}()
	select {
	case text := <-b.answers:
		fault := struct{ Fault string }{}
		if err := json.Unmarshal(text, &fault); err != nil || fault.Fault != "" {
			b.t.Fatalf("the probe says %s (%v)", text, err)
		}
		if err := json.Unmarshal(text, answer); err != nil {
			b.t.Fatal(err)
		}
	case <-ended:
		b.t.Fatalf("Chromium ended without an answer:\n%s", said.String())
	case <-ctx.Done():
		b.t.Fatal("no answer from Chromium")
	}
}

// home is Chromium's own folder. What it started may write into it a moment longer than it lives itself.
func (b *browser) home() string {
	b.t.Helper()
	dir, err := os.MkdirTemp("", "boxer-chromium-")
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		for deadline := time.Now().Add(10 * time.Second); os.RemoveAll(dir) != nil && time.Now().Before(deadline); {
			time.Sleep(10 * time.Millisecond)
		}
	})
	return dir
}

func chromium(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("this test needs Chromium: apt-get install --no-install-recommends chromium")
	return ""
}
