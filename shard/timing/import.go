package timing

import "time"

// Result is one test case of a report.
type Result struct {
	File, Class, Suite, Name string
	Seconds                  float64
}

// Import sums the cases of a report by unit; known are the keys of the units.
func Import(results []Result, known []string) map[string]time.Duration { return nil }
