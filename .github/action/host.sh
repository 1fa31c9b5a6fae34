#!/bin/bash
# Lifts two things that hosted runners forbid to ordinary users, if boxer needs them: opening /dev/kvm, and user
# namespaces. It never fails a run: boxer looks for itself what works, and says what is missing.
set -uo pipefail

warn() {
	echo "::warning title=boxer::$1"
}

# as_root never asks for a password.
as_root() {
	command -v sudo >/dev/null && sudo -n "$@" >/dev/null
}

smolvm_is_wanted() {
	case $INPUT_BACKEND in
	smolvm) ;;
	"" | auto) command -v smolvm >/dev/null ;;
	*) false ;;
	esac
}

gvisor_is_wanted() {
	case $INPUT_BACKEND in
	"" | auto | gvisor) ;;
	*) false ;;
	esac
}

kvm_opens() {
	[ -r /dev/kvm ] && [ -w /dev/kvm ]
}

# The rule lasts when the device is made anew. Containers have no udev: there the device itself is opened.
open_kvm() {
	local rule='KERNEL=="kvm", GROUP="kvm", MODE="0666", OPTIONS+="static_node=kvm"'
	if command -v udevadm >/dev/null && echo "$rule" | as_root tee /etc/udev/rules.d/99-boxer-kvm.rules; then
		as_root udevadm control --reload-rules
		as_root udevadm trigger --name-match=kvm
		as_root udevadm settle
	fi
	kvm_opens || as_root chmod 0666 /dev/kvm
	kvm_opens || warn "/dev/kvm cannot be opened by $(id -un), and sudo does not help: smolvm will not work here"
}

allow_namespaces() {
	as_root sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 ||
		warn "AppArmor keeps user namespaces from $(id -un), and sudo does not help: set kernel.apparmor_restrict_unprivileged_userns=0 on this machine, or gVisor will not work here"
}

if [ "$(uname -s)" != Linux ] || [ "$(id -u)" -eq 0 ]; then
	exit 0
fi
if smolvm_is_wanted && [ -e /dev/kvm ] && ! kvm_opens; then
	open_kvm
fi
if gvisor_is_wanted && [ "$(sysctl -n kernel.apparmor_restrict_unprivileged_userns 2>/dev/null)" = 1 ] &&
	! unshare --user --map-root-user true 2>/dev/null; then
	allow_namespaces
fi
exit 0
