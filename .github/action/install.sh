#!/bin/bash
# Puts boxer on the PATH of the steps that follow: a released archive whose checksum stands in release/checksums.txt of
# this very commit, else what `go build` makes of this folder. Nothing that was downloaded runs, or is unpacked, before
# its checksum was compared. BOXER_RELEASES names a mirror of the releases.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
releases=${BOXER_RELEASES:-https://github.com/boxer-ci/boxer/releases}
bin=$RUNNER_TEMP/boxer-bin

fail() {
	echo "::error title=boxer::$1"
	exit 1
}

# platform prints the end of an archive's name, nothing where there is no release for this machine.
platform() {
	case $(uname -s)/$(uname -m) in
	Linux/x86_64) echo linux_amd64 ;;
	Linux/aarch64 | Linux/arm64) echo linux_arm64 ;;
	Darwin/arm64) echo darwin_arm64 ;;
	esac
}

# known prints "checksum version" of the archive for this machine that belongs to this commit, if there is one.
known() {
	local where
	where=$(platform)
	[ -n "$where" ] || return 0
	sed -nE "s/^([0-9a-f]{64})  boxer_([0-9A-Za-z.+-]+)_$where\.tar\.gz\$/\1 \2/p" "$root/release/checksums.txt" | head -n 1
}

fetch() {
	if command -v curl >/dev/null; then
		curl --fail --silent --show-error --location --retry 3 --output "$2" "$1"
	else
		wget -q --tries=3 -O "$2" "$1"
	fi
}

sum_of() {
	if command -v sha256sum >/dev/null; then
		sha256sum <"$1" | cut -d ' ' -f 1
	else
		shasum -a 256 <"$1" | cut -d ' ' -f 1
	fi
}

# released VERSION CHECKSUM: 1 if there is nothing to be had, the end of the step if it is not what it should be.
released() {
	local asset got
	asset=boxer_$1_$(platform).tar.gz
	if ! fetch "$releases/download/v$1/$asset" "$scratch/$asset"; then
		echo "::warning title=boxer::$releases/download/v$1/$asset cannot be downloaded: boxer is built from source"
		return 1
	fi
	got=$(sum_of "$scratch/$asset")
	[ "$got" = "$2" ] || fail "$asset is not the one that was released with this action: its SHA-256 is $got, not $2"
	tar -xzf "$scratch/$asset" -C "$scratch" boxer || fail "there is no boxer in $asset"
}

# built compiles this folder. What the workflow tells its own Go builds is not meant for this one.
built() {
	command -v go >/dev/null || fail "there is no released boxer for this commit and machine, and no Go to build it: add actions/setup-go before"
	(cd "$root" && env -u GOOS -u GOARCH -u GOEXPERIMENT GOFLAGS= GOWORK=off CGO_ENABLED=0 \
		go build -buildvcs=false -trimpath -o "$scratch/boxer" ./cmd/boxer) || fail "boxer cannot be built from source"
}

scratch=$(mktemp -d "$RUNNER_TEMP/boxer-install.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

read -r sum version <<<"$(known)" || true
wanted=${INPUT_VERSION#v}
if [ -n "$wanted" ] && [ "$wanted" != source ] && [ "$wanted" != "$version" ]; then
	fail "version $wanted has no checksum in this commit of the action, which is that of ${version:-no release}: pin the action to the commit of v$wanted, or leave version out"
fi
if [ "$wanted" = source ] || [ -z "$version" ] || ! released "$version" "$sum"; then
	built
fi

mkdir -p "$bin"
chmod 755 "$scratch/boxer"
mv -f "$scratch/boxer" "$bin/boxer"
echo "$bin" >>"$GITHUB_PATH"

# The tests whose times are kept: those of this step, by all that can tell it from others of the workflow.
printf '%s\n' "$GITHUB_WORKFLOW" "$GITHUB_JOB" "$MATRIX" "$INPUT_WORKING_DIRECTORY" "$INPUT_COMMAND" "$INPUT_TESTS" "$INPUT_LIST" \
	>"$scratch/suite"
echo "suite=$(sum_of "$scratch/suite" | cut -c 1-16)" >>"$GITHUB_OUTPUT"
"$bin/boxer" version
