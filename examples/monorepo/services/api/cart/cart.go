// Package cart counts what somebody wants to buy.
package cart

// Total is the number of pieces.
func Total(pieces map[string]int) int {
	sum := 0
	for _, n := range pieces {
		sum += n
	}
	return sum
}
