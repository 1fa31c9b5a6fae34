package smolvm

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// The scripts are what boxer runs inside a machine beside the user's own commands. They need a POSIX shell, env and
// the usual small tools, and setsid where there is one. Everything that varies is an argument, never part of a text.
//
// guestDir is where they keep their notes; a child inherits those of its parent, so every note has a name of its own.
const guestDir = "/tmp/.boxer"

// preamble sets d and takes the first three arguments: the note's name, where the environment comes from ("-" is
// stdin, else a note) and the folder. Then come the program and its arguments, and the environment goes before them.
// The environment never is an argument of a program on the host: everybody there could read it.
const preamble = `d=` + guestDir + `
[ -d $d ] || mkdir -m 1777 $d 2>/dev/null
id=$1 from=$2 dir=$3
shift 3
say() { echo "$1" >"$d/$id.end"; exit "$2"; }
if [ "$from" = - ]; then e=$(cat); exec </dev/null; else e=$(cat "$d/env-$from") || say environment 126; fi
cd "$dir" 2>/dev/null || say folder 126
p=$1
eval "$e"
case $p in
*/*)
	[ -e "$p" ] || say missing 127
	[ -f "$p" ] && [ -x "$p" ] || say plain 126 ;;
*)
	f=
	set -f
	IFS=:
	for q in $path; do
		if [ -f "${q:-.}/$p" ] && [ -x "${q:-.}/$p" ]; then f=1; break; fi
	done
	unset IFS
	set +f
	[ "$f" ] || say missing 127 ;;
esac
s=setsid
command -v setsid >/dev/null || s=
`

// leader starts the program as the leader of a process group, and notes its number first.
const leader = `$s /bin/sh -c 'echo $$ >"$0"; exec env -i "$@"' "$d/$id.pid" "$@"`

// runScript runs a command. Only a code that smolvm or this script may give too leaves a note of what it means. Nothing
// of the shell's own, such as the word Terminated, gets into the command's stderr.
const runScript = preamble + `exec 3>&2 2>/dev/null
(exec ` + leader + ` 2>&3 3>&-)
c=$?
case $c in 1 | 126 | 127) echo "own $c" >"$d/$id.end" ;; esac
rm -f "$d/$id.pid"
exit $c
`

// terminalScript runs a command on a terminal, whose keys are its signals: it stays in the terminal's session.
const terminalScript = preamble + `exec env -i "$@"`

// serveScript keeps a service and notes how it ended. It is started detached, so nothing reads its output.
const serveScript = preamble + `exec </dev/null >"$d/$id.log" 2>&1
rm -f "$d/$id.rc"
(exec ` + leader + `)
echo $? >"$d/$id.rc"
`

// signalScript sends a signal to a command's process group, which may only just be starting.
const signalScript = `i=0
until p=$(cat ` + guestDir + `/$1.pid 2>/dev/null) && [ "$p" ]; do
	i=$((i + 1))
	[ $i -gt 40 ] && exit 3
	sleep 0.05 2>/dev/null || sleep 1
done
kill -$2 -- -$p 2>/dev/null || kill -$2 $p
`

// noteScript stores stdin as a note, whole or not at all.
const noteScript = `umask 022
[ -d ` + guestDir + ` ] || mkdir -m 1777 ` + guestDir + ` 2>/dev/null
cat >` + guestDir + `/$1.new && mv ` + guestDir + `/$1.new ` + guestDir + `/$1
`

// defaultPath is where a program is looked for if the environment has no PATH.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// environmentScript is the environment as the scripts read it: a text that puts it before the arguments. What the
// account is called is told by the machine, if another one than its own default was asked for.
func environmentScript(env []string, user string) string {
	var b strings.Builder
	path := defaultPath
	last := map[string]int{}
	for i, v := range env {
		name, _, _ := strings.Cut(v, "=")
		last[name] = i
	}
	b.WriteString("set --")
	for i, v := range env {
		name, value, ok := strings.Cut(v, "=")
		if !ok || name == "" || last[name] != i || (user != "" && (name == "HOME" || name == "USER" || name == "LOGNAME")) {
			continue
		}
		if name == "PATH" {
			path = value
		}
		b.WriteString(" " + quote(v))
	}
	if user != "" {
		b.WriteString(` HOME="$(h=$(getent passwd "$(id -u)" 2>/dev/null || grep "^$(id -un):" /etc/passwd); h=${h%:*}; echo "${h##*:}")" USER="$(id -un)" LOGNAME="$(id -un)"`)
	}
	b.WriteString(` "$@"` + "\npath=" + quote(path) + "\n")
	return b.String()
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// noteOf names an environment by what it holds.
func noteOf(script string) string {
	sum := sha256.Sum256([]byte(script))
	return hex.EncodeToString(sum[:10])
}
