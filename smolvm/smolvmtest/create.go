package smolvmtest

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// create writes a machine's record; nothing is started.
func (c *call) create() (int, error) {
	name := c.machine
	if name == "" {
		name = "machine-" + strings.ToLower(rand.Text()[:6])
	}
	m, err := c.configured(name)
	if err != nil {
		return 1, err
	}
	for _, arg := range m.Workload {
		if strings.HasPrefix(arg, "--") {
			fmt.Fprintf(c.Err, "note: '%s' comes after -- and goes to the workload\n", arg)
		}
	}
	c.slow()
	err = c.store.change(func(all map[string]machine) error {
		if _, taken := all[name]; taken {
			return failf("config operation failed: create machine: machine '%s' already exists or is being created", name)
		}
		all[name] = m
		return nil
	})
	if err != nil {
		return 1, err
	}
	err = os.MkdirAll(c.store.vm(name), 0o700)
	if err == nil && c.args.has("from") {
		err = c.layDown(name, c.args.one("from"))
	}
	if err != nil {
		return 1, errors.Join(err, c.remove(name, false, func(string) {}))
	}
	fmt.Fprintf(c.Out, "Created machine: %s\n  CPUs: %d, Memory: %d MiB\n  Mounts: %d, Ports: %d\n\nStart it with: smolvm machine start --name %s\n",
		name, m.CPUs, m.Memory, len(m.Volumes), len(m.Ports), name)
	return 0, nil
}

// configured reads the command line into a record.
func (c *call) configured(name string) (m machine, err error) {
	if err := checkName(name); err != nil {
		return m, err
	}
	a := c.args
	m = machine{
		Name: name, State: created, Image: a.one("image"), Workload: a.trailing, Workdir: a.one("workdir"), User: a.one("user"),
		Init: a.values["init"], CreatedAt: time.Now().Unix(), Labels: map[string]string{},
	}
	for _, n := range []struct {
		flag string
		to   *int
		def  int
	}{{"cpus", &m.CPUs, 4}, {"mem", &m.Memory, 8192}, {"storage", &m.Storage, 20}, {"overlay", &m.Overlay, 10}} {
		if *n.to, err = a.number(n.flag, 1, n.def); err != nil {
			return m, err
		}
	}
	for _, flag := range []string{"net", "allow-host", "allow-cidr", "outbound-localhost-only", "dns"} {
		m.Net = m.Net || a.has(flag)
	}
	if a.has("from") {
		if err := m.unpack(a.one("from")); err != nil {
			return m, err
		}
		fmt.Fprintln(c.Out, "Extracting .smolmachine assets...")
	}
	for _, l := range a.values["label"] {
		k, v, ok := strings.Cut(l, "=")
		if !ok || k == "" {
			return m, failf("config operation failed: --label: expected KEY=VALUE, got '%s'", l)
		}
		m.Labels[k] = v
	}
	if m.Env, err = environment(a.values["env"]); err != nil {
		return m, err
	}
	if m.Ports, err = ports(a.values["port"]); err != nil {
		return m, err
	}
	if m.Image != "" && !m.Net && c.before(1, 23, 0) && !strings.HasPrefix(m.Image, ".") && !strings.HasPrefix(m.Image, "/") {
		return m, failf("image '%s' must be pulled from a registry, but this machine has no network", m.Image)
	}
	m.Volumes, err = volumes(a.values["volume"])
	return m, err
}

func checkName(name string) error {
	bad := func(why string) error {
		return failf("config operation failed: invalid machine name '%s': %s", name, why)
	}
	letter := func(r byte) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	}
	switch {
	case len(name) < 1 || len(name) > 128:
		return bad("must be 1 to 128 characters")
	case !letter(name[0]):
		return bad("must start with a letter or digit")
	case strings.HasSuffix(name, "-"):
		return bad("must not end with '-'")
	case strings.Contains(name, "--"):
		return bad("must not contain '--'")
	}
	for i := range len(name) {
		if !letter(name[i]) && name[i] != '-' && name[i] != '_' {
			return bad("only letters, digits, '-' and '_'")
		}
	}
	return nil
}

func environment(list []string) ([]string, error) {
	for _, e := range list {
		if k, _, ok := strings.Cut(e, "="); !ok || k == "" {
			return nil, failf("config operation failed: --env: expected KEY=VALUE, got '%s'", e)
		}
	}
	return list, nil
}

func ports(list []string) ([]port, error) {
	var out []port
	for _, text := range list {
		host, guest, two := strings.Cut(text, ":")
		if !two {
			guest = host
		}
		h, err1 := strconv.Atoi(host)
		g, err2 := strconv.Atoi(guest)
		if err1 != nil || err2 != nil || h < 1 || g < 1 || h > 65535 || g > 65535 {
			return nil, usage(fmt.Sprintf("invalid value '%s' for '--port <PORT>'", text))
		}
		out = append(out, port{h, g})
	}
	return out, nil
}

// volumes reads HOST:GUEST[:MODE].
func volumes(list []string) ([]volume, error) {
	var out []volume
	for _, text := range list {
		if strings.HasPrefix(text, "s3://") {
			source, guest, _ := cutLast(text)
			out = append(out, volume{source, guest, remote})
			continue
		}
		v := volume{Mode: "rw"}
		fields := strings.Split(text, ":")
		if n := len(fields); n == 3 && slices.Contains([]string{readOnly, "rw", staged}, fields[2]) {
			v.Mode, fields = fields[2], fields[:2]
		}
		if len(fields) != 2 || fields[0] == "" || fields[1] == "" {
			return nil, failf("config operation failed: invalid volume '%s': expected HOST:GUEST[:ro|rw|staged]", text)
		}
		v.Host, v.Guest = fields[0], fields[1]
		if err := v.check(); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(out, func(o volume) bool { return o.Guest == v.Guest }) {
			return nil, failf("config operation failed: duplicate mount target: %s", v.Guest)
		}
		out = append(out, v)
	}
	return out, nil
}

func cutLast(text string) (before, after string, ok bool) {
	i := strings.LastIndex(text, ":")
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+1:], true
}

func (v *volume) check() error {
	real, err := filepath.Abs(v.Host)
	if err == nil {
		real, err = filepath.EvalSymlinks(real)
	}
	if err != nil {
		return failf("mount source not found: %s", v.Host)
	}
	info, err := os.Stat(real)
	switch {
	case err != nil:
		return failf("mount source not found: %s", v.Host)
	case !info.IsDir():
		return failf("config operation failed: mount source is not a directory: %s", v.Host)
	case !filepath.IsAbs(v.Guest):
		return failf("config operation failed: mount target must be an absolute path: %s", v.Guest)
	case protected(real):
		return failf("config operation failed: source path on host is a protected system path and cannot be mounted: %s", real)
	}
	v.Host, v.Guest = real, filepath.Clean(v.Guest)
	return nil
}

func protected(path string) bool {
	exact := []string{"/", "/var"}
	trees := []string{"/var/run", "/var/log", "/etc", "/boot", "/usr", "/bin", "/sbin", "/lib", "/proc", "/sys", "/dev", "/run"}
	if runtime.GOOS == "darwin" {
		exact = []string{"/", "/private/var"}
		trees = []string{"/private/var/run", "/private/var/log", "/private/etc", "/usr", "/bin", "/sbin", "/System", "/Library"}
	}
	return slices.Contains(exact, path) || slices.ContainsFunc(trees, func(tree string) bool {
		return path == tree || strings.HasPrefix(path, tree+"/")
	})
}
