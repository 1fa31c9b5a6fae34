//go:build linux

package gvisor

import "golang.org/x/sys/unix"

// privileges are the capabilities that each kind of process in a sandbox gets.
type privileges struct {
	init     []uintptr // process 1
	prepare  []uintptr // services, their init and readiness, setup
	commands []uintptr // what people run, the shards included
}

// ofInit is what process 1 itself needs: to give its children less than it has, another user and signals, and to
// write the sandbox's own identity, /etc/machine-id (which belongs to an unmapped user where boxer runs as an
// ordinary one) and the host name.
var ofInit = []uintptr{
	unix.CAP_CHOWN, unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_SETPCAP, unix.CAP_KILL,
	unix.CAP_DAC_OVERRIDE, unix.CAP_SYS_ADMIN,
}

// toBecome are what a process needs to turn into another user with fewer capabilities.
var toBecome = []uintptr{unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_SETPCAP, unix.CAP_DAC_OVERRIDE}

// ofContainers is runc's default set, less raw sockets, which gVisor refuses by default too.
// https://github.com/opencontainers/runc/blob/main/libcontainer/specconv/example.go and Docker's documentation
var ofContainers = []uintptr{
	unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FSETID, unix.CAP_FOWNER, unix.CAP_MKNOD,
	unix.CAP_SETGID, unix.CAP_SETUID, unix.CAP_SETFCAP, unix.CAP_SETPCAP, unix.CAP_NET_BIND_SERVICE,
	unix.CAP_SYS_CHROOT, unix.CAP_KILL, unix.CAP_AUDIT_WRITE,
}

// privilegesOf gives root what a container gives it. An ordinary user is uid 0 inside too, so his commands get no
// capability at all: permissions are then as on the host.
func privilegesOf(root bool) privileges {
	if root {
		return privileges{
			init:     append([]uintptr{unix.CAP_SYS_ADMIN}, ofContainers...),
			prepare:  ofContainers,
			commands: ofContainers,
		}
	}
	return privileges{
		init:    ofInit,
		prepare: []uintptr{unix.CAP_CHOWN, unix.CAP_SETUID, unix.CAP_SETGID},
	}
}

var namesOfCapabilities = map[uintptr]string{
	unix.CAP_AUDIT_WRITE: "CAP_AUDIT_WRITE", unix.CAP_CHOWN: "CAP_CHOWN", unix.CAP_DAC_OVERRIDE: "CAP_DAC_OVERRIDE",
	unix.CAP_FOWNER: "CAP_FOWNER", unix.CAP_FSETID: "CAP_FSETID", unix.CAP_KILL: "CAP_KILL",
	unix.CAP_MKNOD: "CAP_MKNOD", unix.CAP_NET_BIND_SERVICE: "CAP_NET_BIND_SERVICE",
	unix.CAP_SETFCAP: "CAP_SETFCAP", unix.CAP_SETGID: "CAP_SETGID", unix.CAP_SETPCAP: "CAP_SETPCAP",
	unix.CAP_SETUID: "CAP_SETUID", unix.CAP_SYS_ADMIN: "CAP_SYS_ADMIN", unix.CAP_SYS_CHROOT: "CAP_SYS_CHROOT",
}

func capabilityNames(caps []uintptr) []string {
	names := make([]string, len(caps))
	for i, c := range caps {
		names[i] = namesOfCapabilities[c]
	}
	return names
}
