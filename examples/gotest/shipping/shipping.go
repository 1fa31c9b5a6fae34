// Package shipping tells what sending costs.
package shipping

import "example.com/till/money"

// FreeFrom is the sum from which sending costs nothing.
const FreeFrom money.Cents = 5000

// Cost is the cost of sending so many grams of goods worth the sum.
func Cost(grams int, sum money.Cents) money.Cents {
	if sum >= FreeFrom || grams == 0 {
		return 0
	}
	return 400 + 100*money.Cents((grams-1)/1000)
}
