package keeper

// Rung is one way to start a keeper. They are tried from the top; which one holds is found by doing, for no file
// and no uid tells it beforehand.
type Rung int

// The rungs, from the strongest.
const (
	Namespaces     Rung = 1 + iota // first process of a PID namespace, with a mount namespace
	UserNamespaces                 // the same in a user namespace
	Mounts                         // a mount namespace only, under a guard: where no fresh /proc can be mounted
	UserMounts                     // the same in a user namespace
	Bare                           // no namespace, under a guard
)

func (r Rung) pid() bool   { return r == Namespaces || r == UserNamespaces }
func (r Rung) mount() bool { return r != Bare }
func (r Rung) user() bool  { return r == UserNamespaces || r == UserMounts }

// ladder lists the rungs that an engine can stand on. One that mounts nothing wants no user namespace without a PID
// namespace: it would lose sudo and other users' files and win nothing.
func ladder(bare bool, from Rung) []Rung {
	all := []Rung{Namespaces, UserNamespaces, Mounts, UserMounts}
	if bare {
		all = []Rung{Namespaces, UserNamespaces, Bare}
	}
	for len(all) > 0 && all[0] < from {
		all = all[1:]
	}
	return all
}

func (r Rung) String() string {
	switch r {
	case Namespaces:
		return "PID and mount namespace"
	case UserNamespaces:
		return "PID, mount and user namespace"
	case Mounts:
		return "mount namespace"
	case UserMounts:
		return "mount and user namespace"
	default:
		return "no namespace"
	}
}

// setup is what the starter tells the keeper and its guard, in a file in the keeper's folder.
type setup struct {
	record
	Kind  string `json:"kind"`
	Rung  Rung   `json:"rung"`
	Bare  bool   `json:"bare"`
	Exe   string `json:"exe"`
	UID   int    `json:"uid"`
	GID   int    `json:"gid"`
	Probe bool   `json:"probe"` // only find out whether the rung holds
	exec  string // the path to start this binary by
}

// stage is what a keeper tells its starter over the inherited connection until it is ready.
type stage struct {
	Ready   bool
	Lease   string // of the starter
	Cleanup string // see runner.Session
	Step    string // what the rung failed at
	Error   string // why
}
