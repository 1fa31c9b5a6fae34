#!/bin/sh
# Installs a released boxer: downloads its archive and checksums.txt, compares, and only then puts the program in place.
#
#   install.sh [--version VERSION] [--to DIR]
#
# --version  which one, as 0.1.0; the newest is the default
# --to       the folder for the program; the default is /usr/local/bin for root, ~/.local/bin for others
#
# It needs curl or wget; sha256sum, shasum or openssl; and tar. BOXER_RELEASES names a mirror of the releases.
set -eu

releases=${BOXER_RELEASES:-https://github.com/boxer-ci/boxer/releases}

fail() {
	printf 'install.sh: %s\n' "$1" >&2
	exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# fetch URL FILE
fetch() {
	if has curl; then
		curl --fail --silent --show-error --location --retry 2 --output "$2" "$1"
	elif has wget; then
		wget -q --tries=3 -O "$2" "$1"
	else
		fail "neither curl nor wget is here: install one of them"
	fi || fail "cannot download $1"
}

# sum_of FILE
sum_of() {
	if has sha256sum; then
		sha256sum <"$1" | cut -d ' ' -f 1
	elif has shasum; then
		shasum -a 256 <"$1" | cut -d ' ' -f 1
	elif has openssl; then
		openssl dgst -sha256 -r <"$1" | cut -d ' ' -f 1
	else
		fail "no sha256sum, shasum or openssl is here, and nothing is installed unchecked"
	fi
}

platform() {
	case $(uname -s) in
	Linux) os=linux ;;
	Darwin) os=darwin ;;
	*) fail "there is no boxer for $(uname -s): it runs on Linux and macOS" ;;
	esac
	case $(uname -m) in
	x86_64 | amd64) arch=amd64 ;;
	aarch64 | arm64) arch=arm64 ;;
	*) fail "there is no boxer for $(uname -m) processors" ;;
	esac
	if [ "$os" = darwin ] && [ "$arch" = amd64 ]; then
		fail "there is no boxer for macOS on Intel: go install github.com/boxer-ci/boxer/cmd/boxer@latest"
	fi
}

main() {
	version=
	to=
	while [ $# -gt 0 ]; do
		case $1 in
		--version | --to)
			if [ -z "${2-}" ]; then fail "$1 needs a value"; fi
			if [ "$1" = --to ]; then to=$2; else version=${2#v}; fi
			shift 2
			;;
		*) fail "unknown argument $1: install.sh [--version VERSION] [--to DIR]" ;;
		esac
	done
	case $version in
	*[!0-9A-Za-z.-]*) fail "--version $version is none: give one as 0.1.0" ;;
	esac
	if [ -z "$to" ]; then
		if [ "$(id -u)" = 0 ]; then
			to=/usr/local/bin
		else
			to=${HOME:?install.sh: HOME is not set: say where with --to DIR}/.local/bin
		fi
	fi
	platform

	scratch=$(mktemp -d)
	new=
	trap 'rm -rf "$scratch" ${new:+"$new"}' EXIT
	trap 'exit 1' HUP INT TERM

	if [ -n "$version" ]; then
		fetch "$releases/download/v$version/checksums.txt" "$scratch/checksums.txt"
	else
		fetch "$releases/latest/download/checksums.txt" "$scratch/checksums.txt"
	fi
	line=$(grep -E "^[0-9a-f]{64}  boxer_${version:-[0-9A-Za-z.-]+}_${os}_$arch\.tar\.gz\$" "$scratch/checksums.txt") ||
		fail "checksums.txt${version:+ of v$version} names no archive for $os/$arch"
	[ "$(printf '%s\n' "$line" | wc -l)" -eq 1 ] || fail "checksums.txt names more than one archive for $os/$arch"
	want=${line%%  *}
	asset=${line##*  }
	# What was the newest a moment ago may not be it any more: the archive is of the release that the checksum is of.
	version=${asset#boxer_}
	version=${version%"_${os}_$arch.tar.gz"}

	fetch "$releases/download/v$version/$asset" "$scratch/$asset"
	got=$(sum_of "$scratch/$asset")
	[ "$got" = "$want" ] || fail "$asset is not what checksums.txt says, nothing is installed
  got   $got
  want  $want"

	tar -xzf "$scratch/$asset" -C "$scratch" boxer || fail "there is no boxer in $asset"
	mkdir -p "$to" || fail "cannot make $to: say where with --to DIR"
	# In the same folder first, so that the program is the old one or the new one, and never half of it.
	new=$(mktemp "$to/.boxer.XXXXXX") || fail "cannot write to $to: say where with --to DIR"
	cp "$scratch/boxer" "$new"
	chmod 755 "$new"
	mv -f "$new" "$to/boxer"
	new=
	printf 'boxer %s is installed: %s\n' "$version" "$to/boxer"
	case :${PATH:-}: in
	*:"$to":*) ;;
	*) printf 'it is not on your PATH yet: export PATH="%s:%s"\n' "$to" "\$PATH" ;;
	esac
}

# All of it is read before any of it runs, so a download that broke off does nothing.
main "$@"
