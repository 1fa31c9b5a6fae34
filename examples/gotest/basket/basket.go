// Package basket holds what somebody is about to buy.
package basket

import "example.com/till/money"

// Basket is a list of lines. The zero Basket is empty.
type Basket struct{ lines map[string]line }

type line struct {
	number int
	price  money.Cents
}

// Add puts some of an item in.
func (b *Basket) Add(name string, number int, price money.Cents) {
	if b.lines == nil {
		b.lines = map[string]line{}
	}
	l := b.lines[name]
	b.lines[name] = line{l.number + number, price}
}

// Remove takes an item out.
func (b *Basket) Remove(name string) { delete(b.lines, name) }

// Sum is what all of it costs.
func (b *Basket) Sum() money.Cents {
	var sum money.Cents
	for _, l := range b.lines {
		sum += money.Cents(l.number) * l.price
	}
	return sum
}
