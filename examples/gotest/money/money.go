// Package money counts in cents.
package money

import "fmt"

// Cents is an amount.
type Cents int64

// String is the amount as people write it.
func (c Cents) String() string {
	sign := ""
	if c < 0 {
		sign, c = "-", -c
	}
	return fmt.Sprintf("%s%d.%02d", sign, c/100, c%100)
}

// Part is so many of a thousand parts, rounded half up.
func (c Cents) Part(thousandths int64) Cents {
	return (c*Cents(thousandths) + 500) / 1000
}
