// Package mail writes to customers.
package mail

// Greeting is the first line of a letter.
func Greeting(name string) string {
	if name == "" {
		return "Hello,"
	}
	return "Dear " + name + ","
}
