package report

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const maxSeconds = 1e8

var thousands = regexp.MustCompile(`^[0-9]{1,3}(,[0-9]{3}){2,}$`)

// seconds reads a time as any of the known writers puts it. False means that it is no sensible time.
func seconds(text string) (float64, bool) {
	text = strings.TrimSpace(text)
	n, ok := number(text)
	if !ok {
		n, ok = duration(text)
	}
	if !ok || math.IsNaN(n) || n < 0 || n > maxSeconds {
		return 0, false
	}
	return n + 0, true // -0 becomes 0
}

func number(text string) (float64, bool) {
	comma, dot := strings.LastIndexByte(text, ','), strings.LastIndexByte(text, '.')
	switch {
	case comma < 0:
	case dot > comma, thousands.MatchString(text):
		text = strings.ReplaceAll(text, ",", "")
	default: // a decimal comma; .NET and Java write one where people do
		text = strings.ReplaceAll(text, ".", "")
		text = strings.Replace(text, ",", ".", 1) // a second one stays, and is no number
	}
	for i := range len(text) { // ParseFloat takes words, other bases and lines in numbers too
		if c := text[i]; (c < '0' || c > '9') && strings.IndexByte(".+-eE", c) < 0 {
			return 0, false
		}
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil
}

func duration(text string) (float64, bool) {
	if d, err := time.ParseDuration(text); err == nil {
		return d.Seconds(), true
	}
	parts := strings.Split(text, ":")
	if len(parts) < 2 || len(parts) > 3 {
		return 0, false
	}
	var sum float64
	for _, part := range parts {
		n, ok := number(part)
		if !ok || n < 0 {
			return 0, false
		}
		sum = sum*60 + n
	}
	return sum, true
}

// formatSeconds writes at most six decimals: no consumer shows more.
func formatSeconds(n float64) string {
	s := strconv.FormatFloat(n, 'f', 6, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}
