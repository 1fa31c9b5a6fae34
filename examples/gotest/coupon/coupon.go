// Package coupon takes off what a coupon is worth, and keeps in one fixed file which were used.
package coupon

import (
	"bufio"
	"errors"
	"fmt"
	"os"

	"example.com/till/money"
)

// File holds one used code a line.
const File = "/var/tmp/till-example-coupons"

// ErrUsed is the refusal of a code that was used before.
var ErrUsed = errors.New("the coupon was used before")

// Redeem takes a tenth off, once for each code.
func Redeem(code string, sum money.Cents) (money.Cents, error) {
	f, err := os.OpenFile(File, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if s.Text() == code {
			return sum, ErrUsed
		}
	}
	_, err = fmt.Fprintln(f, code)
	return sum - sum.Part(100), err
}
