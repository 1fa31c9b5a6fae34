package main

// startedAgain runs what boxer was started as by itself, if it was.
func startedAgain(args []string) (code int, handled bool) {
	engine(args)
	return 0, false
}
