package text

// Colour is one of the few that boxer uses. A colour only repeats what the words say.
type Colour string

// The colours. None leaves a text as it is.
const (
	None   Colour = ""
	Red    Colour = "31"
	Green  Colour = "32"
	Yellow Colour = "33"
	Dim    Colour = "2"
	Bold   Colour = "1"
)

// Paint writes a text in a colour.
func Paint(c Colour, s string) string {
	if c == None || s == "" {
		return s
	}
	return "\x1b[" + string(c) + "m" + s + resetColour
}

// ColourOf is that of a shard's state.
func ColourOf(state string) Colour {
	switch state {
	case "passed":
		return Green
	case "waiting", "forking", "running":
		return None
	case "cancelled":
		return Yellow
	}
	return Red
}
