# shellcheck shell=bash
# Sourced by the step that runs boxer: makes of the inputs, which come as variables INPUT_*, boxer's own variables and
# the array `words` of its arguments. No input is read as shell here. Bash 3.2, macOS's, has to read it.

# each_line NAME: adds the lines of a variable to words, blank ones left out.
each_line() {
	local line
	while IFS= read -r line || [ -n "$line" ]; do
		line=${line%$'\r'}
		if [ -n "${line// /}" ]; then
			words+=("$line")
		fi
	done <<<"${!1}"
}

# An input that is left out is empty, and leaves what the workflow's own BOXER_* variable or boxer.yaml says.
settings=(COUNT JUNIT ARTIFACTS TESTS LIST SETUP BACKEND RETRIES TIMEOUT WORKTREE NODE)
for setting in "${settings[@]}"; do
	input=INPUT_$setting
	if [ -n "${!input}" ]; then
		export "BOXER_$setting=${!input}"
	fi
done

# The times that earlier runs measured. Nodes must plan from one and the same file, and a cache that changes between the
# start of two of them is none: they get no times.
if [ "$INPUT_TIMINGS" != false ] && [ -z "$INPUT_NODE$INPUT_MERGE" ] && [ -z "${BOXER_TIMINGS:-}" ]; then
	mkdir -p "$RUNNER_TEMP/boxer-timings"
	export BOXER_TIMINGS=$RUNNER_TEMP/boxer-timings/timings.json
fi

# What runs in the sandbox with the command as its argument. Where there is a bash, a part of a pipe that fails counts.
# The tests that boxer deals out are further arguments, and go behind the last line, unless the command takes them itself.
# shellcheck disable=SC2016
inside='line=$1
shift
case $line in
*\$@* | *\$\**) ;;
*) [ $# -eq 0 ] || line="$line \"\$@\"" ;;
esac
command -v bash >/dev/null 2>&1 && exec bash -eo pipefail -c "$line" boxer "$@"
exec sh -ec "$line" boxer "$@"'

words=()
if [ -n "$INPUT_WORKING_DIRECTORY" ]; then
	words+=(-C "$INPUT_WORKING_DIRECTORY")
fi
if [ -n "$INPUT_MERGE" ]; then
	words+=(merge)
	each_line INPUT_ARGS
	words+=(--)
	each_line INPUT_MERGE
else
	words+=(shard)
	each_line INPUT_ARGS
	if [ -n "$INPUT_COMMAND" ]; then
		# $(...) takes the line breaks off the end that a block of YAML leaves there.
		words+=(-- sh -c "$inside" boxer "$(printf %s "$INPUT_COMMAND")")
	fi
fi

# The command must find none of it among its variables, nor boxer name them as what it kept out.
for setting in "${settings[@]}" COMMAND ARGS MERGE TIMINGS WORKING_DIRECTORY; do
	unset "INPUT_$setting"
done
