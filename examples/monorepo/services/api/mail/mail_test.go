package mail

import "testing"

func TestGreeting(t *testing.T) {
	if got := Greeting("Ada"); got != "Dear Ada," {
		t.Errorf("got %s", got)
	}
}

func TestGreetingOfNobody(t *testing.T) {
	if got := Greeting(""); got != "Hello," {
		t.Errorf("got %s", got)
	}
}
