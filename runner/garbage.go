package runner

// Garbage is one thing of boxer's that nobody owns any more.
type Garbage struct {
	Kind   string `json:"kind"`   // "sandbox", "child", "image", "folder", "socket" or "record"
	Name   string `json:"name"`   // as people know it, or of the file
	Path   string `json:"path"`   // where it lies on this machine; of a child: where its sandbox's files lie
	Reason string `json:"reason"` // why nobody owns it; of what was left alone: why that was
}

// Reclaimed is what a search for garbage came to.
type Reclaimed struct {
	Items   []Garbage // taken away, or in a dry run what would be
	Skipped []Garbage // left alone, because somebody holds it or because it may be somebody's
}
