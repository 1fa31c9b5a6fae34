#!/bin/bash
# Installs what the tests in this folder start besides boxer itself, pinned, into a folder of the cache, and prints that
# folder. What is there already in the right version is kept, so a second call takes no time and no network.
# Programs of Debian (shellcheck, rsync) are installed by .ci/run.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tools=${XDG_CACHE_HOME:-$HOME/.cache}/boxer-ci-tools
mkdir -p "$tools/bin" "$tools/npm"

# One installs, the others wait for it.
exec 9>"$tools/lock"
flock 9

# go_tool PROGRAM MODULE VERSION PACKAGE
go_tool() {
	if [ -x "$tools/bin/$1" ] && go version -m "$tools/bin/$1" | grep -q "^[[:space:]]mod[[:space:]]$2[[:space:]]$3\b"; then
		return
	fi
	GOBIN="$tools/bin" GOFLAGS='' go install "$4@$3" >&2
}

go_tool act github.com/nektos/act v0.2.89 github.com/nektos/act
go_tool actionlint github.com/rhysd/actionlint v1.7.12 github.com/rhysd/actionlint/cmd/actionlint

# The npm programs are those of testdata/npm, at $tools/npm/node_modules/.bin. The lock file is copied last: it says
# that all is there.
if ! cmp -s "$here/testdata/npm/package-lock.json" "$tools/npm/installed.json"; then
	rm -f "$tools/npm/installed.json"
	cp "$here/testdata/npm/package.json" "$here/testdata/npm/package-lock.json" "$here/testdata/npm/.npmrc" "$tools/npm/"
	(cd "$tools/npm" && npm ci --ignore-scripts --no-audit --no-fund >&2)
	cp "$here/testdata/npm/package-lock.json" "$tools/npm/installed.json"
fi

echo "$tools"
