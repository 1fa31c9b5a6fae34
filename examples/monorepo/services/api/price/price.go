// Package price adds taxes.
package price

// WithTax is a price in cents with a tax in percent, rounded up.
func WithTax(cents, percent int) int {
	return (cents*(100+percent) + 99) / 100
}
