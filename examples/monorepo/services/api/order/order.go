// Package order numbers orders.
package order

import "fmt"

// Number is what a customer sees of the n-th order of a year.
func Number(year, n int) string {
	return fmt.Sprintf("%d-%05d", year, n)
}
