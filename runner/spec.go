package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
)

// Spec is what a sandbox is started from. Two starts with equal specs mean the same sandbox.
type Spec struct {
	Worktree Worktree      `json:"worktree"` // not part of the hash: a run may use a parent of either kind
	Dir      string        `json:"dir"`      // absolute folder in which services and setup start
	Env      []string      `json:"env"`      // their environment, NAME=value; not part of the hash
	Hide     []string      `json:"hide"`     // absolute paths to hide, besides the backend's own list
	Show     []string      `json:"show"`     // absolute paths taken back from that list
	Services []Service     `json:"services"`
	Setup    []SetupStep   `json:"setup"`
	Machine  MachineConfig `json:"machine"`          // for backends that have one
	Mounts   []Mount       `json:"mounts,omitempty"` // folders of the host besides the worktree; a backend that has none refuses them
}

// Mount is a folder of the host that a sandbox and all its children see live: what one writes, all see at once.
// Nothing is hidden in it.
type Mount struct {
	Source   string `json:"source"` // absolute, on the host
	Target   string `json:"target"` // absolute, inside; made where it is missing
	ReadOnly bool   `json:"read_only,omitempty"`
}

// Service is a process that runs in the sandbox, and so in every child.
type Service struct {
	Name    string        `json:"name"`
	Init    string        `json:"init,omitempty"`  // shell line, once, before the first start
	Run     string        `json:"run"`             // shell line
	Ready   string        `json:"ready,omitempty"` // shell line, polled until it exits 0; "" is ready at once
	User    string        `json:"user,omitempty"`
	Timeout time.Duration `json:"timeout"` // for Init and for getting ready, each; 0 is 30 s
}

// SetupStep is a shell line that runs once per boot, after the services are ready.
type SetupStep struct {
	Run     string        `json:"run"`
	User    string        `json:"user,omitempty"`
	Timeout time.Duration `json:"timeout"` // 0 is 10 min
}

// MachineConfig is what only a virtual machine needs to be told.
type MachineConfig struct {
	Image   string   `json:"image,omitempty"`
	CPUs    int      `json:"cpus,omitempty"`
	Memory  int      `json:"memory,omitempty"` // MiB
	Network bool     `json:"network,omitempty"`
	Setup   []string `json:"setup,omitempty"`
	Exclude []string `json:"exclude,omitempty"`
}

// Prepared is the spec of a sandbox in which everything was done once already: only the services are to be started.
func (s Spec) Prepared() Spec {
	services := s.Services
	s.Services, s.Setup = nil, nil
	for _, service := range services {
		service.Init = ""
		s.Services = append(s.Services, service)
	}
	return s
}

// Hash names the spec: where it differs from the one a sandbox was started from, that sandbox is not what the
// configuration asks for.
func (s Spec) Hash() string {
	s.Worktree, s.Env = "", nil
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // plain data always marshals
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
