#!/bin/bash
# What gVisor itself takes for a fork, with nothing of boxer around it: the yardstick of bench_test.go.
# As process 1 of a PID and mount namespace of its own: bare.sh BOXER FOLDER CHILDREN
# Prints nanoseconds, a name before each: checkpoint and all restores, one exec, the removal of all children.
set -eu
boxer=$1 dir=$2 children=$3
mkdir -p "$dir"/{root,state,image,files,parent}
mount --rbind / "$dir/root"
mount --make-rslave "$dir/root"

runsc() { (exec -a runsc "$boxer" --root="$dir/state" --network=none --ignore-cgroups --overlay2=root:dir="$dir/files" "$@") </dev/null; }
quiet() { runsc "$@" >"$dir/log" 2>&1 || { cat "$dir/log" >&2; exit 1; }; }
since() { echo "$1 $(($(date +%s%N) - $2))"; }

cat >"$dir/parent/config.json" <<J
{"ociVersion": "1.0.2",
 "process": {"user": {"uid": 0, "gid": 0}, "cwd": "/", "env": ["PATH=$PATH"],
             "args": ["sh", "-c", "redis-server --save '' >/dev/null & exec sleep 1000000"]},
 "root": {"path": "$dir/root"},
 "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"}],
 "linux": {"namespaces": [{"type": "pid"}, {"type": "network"}, {"type": "ipc"}, {"type": "uts"}, {"type": "mount"}]}}
J
quiet run -detach -bundle "$dir/parent" parent
until runsc exec parent redis-cli ping 2>/dev/null | grep -q PONG; do sleep 0.02; done

start=$(date +%s%N)
quiet checkpoint -leave-running -image-path "$dir/image" parent
for i in $(seq "$children"); do quiet restore -detach -bundle "$dir/parent" -image-path "$dir/image" "c$(printf %03d "$i")" & done
# shellcheck disable=SC2046 # a word for each process is what is wanted
wait $(jobs -p)
since fork "$start"

start=$(date +%s%N)
runsc exec c001 true
since exec "$start"

start=$(date +%s%N)
for i in $(seq "$children"); do quiet delete -force "c$(printf %03d "$i")" & done
# shellcheck disable=SC2046 # a word for each process is what is wanted
wait $(jobs -p)
since remove "$start"
