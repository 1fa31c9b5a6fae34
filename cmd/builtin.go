package cmd

// builtIn are the backends of this binary, in the order of doctor.
func builtIn() []backend { return []backend{smolvm()} }
