package cmd

// perChild is the memory that a child is expected to need where nothing better is known: memory is copied, not
// shared, and a test runner with a service or two fits into it.
const perChild = 512 << 20

// autoCount is the number of children for count: auto. memory is 0 where it is not known.
func autoCount(cores int, memory int64) int {
	n := cores
	if memory > 0 {
		n = min(n, int(memory/perChild))
	}
	return max(n, 1)
}
