// Package tax adds what the state takes.
package tax

import "example.com/till/money"

var thousandths = map[string]int64{"food": 70, "book": 70, "other": 190}

// On is the tax on an amount of a kind of goods; unknown kinds are other.
func On(kind string, net money.Cents) money.Cents {
	rate, known := thousandths[kind]
	if !known {
		rate = thousandths["other"]
	}
	return net.Part(rate)
}
