package keeper

import (
	"os"
	"strings"
)

// missing names the one setting that keeps every rung from holding, as a command where there is one.
func missing(error) string {
	for _, s := range []struct{ file, bad, fix string }{
		{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"},
		{"/proc/sys/kernel/unprivileged_userns_clone", "0", "sudo sysctl -w kernel.unprivileged_userns_clone=1"},
		{"/proc/sys/user/max_user_namespaces", "0", "sudo sysctl -w user.max_user_namespaces=15000"},
	} {
		if b, err := os.ReadFile(s.file); err == nil && strings.TrimSpace(string(b)) == s.bad {
			return s.fix
		}
	}
	if inContainer() {
		if os.Getuid() == 0 {
			return "docker run --cap-add SYS_ADMIN --security-opt seccomp=unconfined --security-opt apparmor=unconfined ..."
		}
		return "docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined ..."
	}
	return "boxer shard --backend host ..."
}

// inContainer tells whether a container engine made this process's world.
func inContainer() bool {
	for _, mark := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(mark); err == nil {
			return true
		}
	}
	if os.Getenv("KUBERNETES_SERVICE_HOST") != "" || os.Getenv("container") != "" {
		return true
	}
	b, _ := os.ReadFile("/proc/self/status")
	return strings.Contains(string(b), "\nSeccomp:\t2\n") // a filter
}
