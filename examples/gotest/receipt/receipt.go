// Package receipt writes what a customer takes home.
package receipt

import (
	"fmt"
	"strings"

	"example.com/till/money"
)

// Width is how many characters a line has.
const Width = 24

// Line is one item with its price at the right edge; a long name is cut.
func Line(name string, price money.Cents) string {
	right := price.String()
	room := Width - len(right) - 1
	if len(name) > room {
		name = name[:room]
	}
	return fmt.Sprintf("%-*s %s", room, name, right)
}

// Receipt is all lines and their sum.
func Receipt(names []string, prices []money.Cents) string {
	var out []string
	var sum money.Cents
	for i, n := range names {
		out = append(out, Line(n, prices[i]))
		sum += prices[i]
	}
	return strings.Join(append(out, Line("sum", sum)), "\n")
}
