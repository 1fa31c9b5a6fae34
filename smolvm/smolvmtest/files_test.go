//go:build linux

package smolvmtest_test

import (
	"encoding/json"
	"os"
	"strings"
)

func askCopy(w *world) {
	w.machine("m")
	w.branch("m", "c")
	file, back := w.path("file"), w.path("back")
	w.write(file, "\x00text\xff")
	for _, name := range []string{"m", "c"} {
		w.ok("machine", "cp", "--mode", "640", "--uid", "7", file, name+":/var/tmp/up")
		w.equal("mode and owner", w.sh(name, "stat -c '%a %u %g' /var/tmp/up"), "640 7 0")
		w.ok("machine", "cp", name+":/var/tmp/up", back)
		w.equal("back", w.read(back), "\x00text\xff")
		w.refused("cp: ", "machine", "cp", name+":/var/tmp", back)
		w.refused("cp: ", "machine", "cp", name+":/var/tmp/none", back)
	}
	w.refused("cp: ", "machine", "cp", w.dir, "m:/var/tmp/folder")
	w.refused("must be absolute", "machine", "cp", file, "m:up")
	w.refused("exactly one side", "machine", "cp", file, back)
	w.refused("uploads only", "machine", "cp", "--uid", "1", "m:/var/tmp/up", back)
	w.refused("vm not found: none", "machine", "cp", file, "none:/x")
	w.ok("machine", "stop", "--name", "m")
	w.refused("machine 'm' is not running", "machine", "cp", file, "m:/x")
}

func askStatus(w *world) {
	w.refused("vm not found: m", "machine", "status", "--name", "m")
	w.refused("config operation failed: machine status: machine 'm' not found", "machine", "status", "--name", "m", "--json")
	w.refused("vm not found: m", "machine", "data-dir", "--name", "m")
	w.ok("machine", "create", "--name", "m", "-p", "18081:81")
	w.equal("text", w.ok("machine", "status", "--name", "m"), "Machine 'm': created\n")
	status := func() map[string]any {
		var s map[string]any
		if err := json.Unmarshal([]byte(w.ok("machine", "status", "--name", "m", "--json")), &s); err != nil {
			w.Fatal(err)
		}
		return s
	}
	if s := status(); s["state"] != "created" || s["memory"] != nil || s["published_ports"] != nil {
		w.Errorf("%v", s)
	}
	w.ok("machine", "start", "--name", "m")
	s := status()
	if text := w.ok("machine", "status", "--name", "m"); !strings.HasPrefix(text, "Machine 'm': running (PID: ") {
		w.Error(text)
	}
	w.equal("total", s["memory"].(map[string]any)["total_bytes"], any(8192.0*(1<<20)))
	w.equal("port", s["published_ports"].([]any)[0].(map[string]any)["host"], any(18081.0))
	dir := strings.TrimSpace(w.ok("machine", "data-dir", "--name", "m"))
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		w.Errorf("%q: %v", dir, err)
	}
	w.equal("sync", w.ok("machine", "sync", "--name", "m"), "Machine 'm' has no staged mounts\n")
}

func askPack(w *world) {
	dir := w.folder("mount")
	w.machine("mounted", "-v", dir+":/x")
	w.refused("config operation failed: checkpoint machine: the initial portable checkpoint profile does not support host mounts; stop or detach these resources before capture",
		"machine", "checkpoint", "--name", "mounted", "-o", w.path("x.checkpoint"))
	w.machine("m", "--image", "alpine", "--workdir", "/usr")
	w.refused("must end in .checkpoint", "machine", "checkpoint", "--name", "m", "-o", w.path("x"))
	if out := w.ok("machine", "checkpoint", "--name", "m", "-o", w.path("x.checkpoint")); !strings.HasPrefix(out, "Checkpointed 'm' to ") {
		w.Error(out)
	}
	stub := w.path("stub")
	w.refused("VM 'm' is running. Stop it first with: smolvm machine stop --name m", "pack", "create", "--from-vm", "m", "-o", stub)
	w.sh("m", "echo packed >/var/tmp/f; rm /etc/hostname; sleep 1000 >/dev/null 2>&1 </dev/null &")
	w.ok("machine", "stop", "--name", "m")
	w.refused("must not end in .smolmachine", "pack", "create", "--from-vm", "m", "-o", stub+".smolmachine")
	w.fault("pack:fail=no room").refused("no room", "pack", "create", "--from-vm", "m", "-o", stub)
	w.ok("pack", "create", "--from-vm", "m", "-o", stub)
	if info, err := os.Stat(stub); err != nil || info.Mode()&0o111 == 0 {
		w.Errorf("the stub: %v", err)
	}
	w.ok("machine", "create", "--name", "n", "--from", stub+".smolmachine")
	w.equal("image", w.shown("n")["image"], any("alpine"))
	w.ok("machine", "start", "--name", "n", "--branchable")
	w.branch("n", "c")
	for _, name := range []string{"n", "c"} {
		w.equal("disk of "+name, w.sh(name, "cat /var/tmp/f; ls /etc/hostname 2>/dev/null; pgrep -x sleep | wc -l"), "packed\n0")
	}
	text := w.read(stub + ".smolmachine")
	w.write(w.path("cut"), text[:len(text)-100])
	w.refused("the pack is cut off", "machine", "create", "--name", "o", "--from", w.path("cut"))
	w.refused("vm not found", "machine", "status", "--name", "o")
	w.write(stub+".smolmachine", "short")
	w.refused("sidecar file too small to contain footer", "machine", "create", "--name", "o", "--from", stub+".smolmachine")
	w.ok("pack", "create", "--image", "alpine", "--output", w.path("other"))
}
