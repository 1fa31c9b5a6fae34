package smolvmtest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
)

// shown is one machine as `ls --json` tells it.
type shown struct {
	Name          string            `json:"name"`
	State         state             `json:"state"`
	CPUs          int               `json:"cpus"`
	Memory        int               `json:"memory_mib"`
	PID           *int              `json:"pid"`
	Mounts        int               `json:"mounts"`
	Ports         int               `json:"ports"`
	CreatedAt     int64             `json:"created_at"`
	Storage       int               `json:"storage_gb"`
	Overlay       int               `json:"overlay_gb"`
	BlockIO       *string           `json:"block_io"`
	Disks         []string          `json:"disks"`
	Image         *string           `json:"image"`
	Entrypoint    []string          `json:"entrypoint"`
	Cmd           []string          `json:"cmd"`
	Ephemeral     bool              `json:"ephemeral"`
	Detached      bool              `json:"detached"`
	GPU           bool              `json:"gpu"`
	GPUMemory     *int              `json:"gpu_vram_mib"`
	CUDA          bool              `json:"cuda"`
	Branchable    bool              `json:"branchable"`
	Forkable      bool              `json:"forkable"`
	Parent        *string           `json:"parent_machine"`
	BranchPool    *int              `json:"cuda_branch_pool_size"`
	ForkPool      *int              `json:"cuda_fork_pool_size"`
	CUDALimit     *int              `json:"cuda_vram_limit_mib"`
	BranchHeld    bool              `json:"branchpoint_held"`
	ForkHeld      bool              `json:"forkpoint_held"`
	Labels        map[string]string `json:"labels"`
	Restart       string            `json:"restart_policy"`
	RestartMax    int               `json:"restart_max_retries"`
	RestartCount  int               `json:"restart_count"`
	HealthCmd     []string          `json:"health_cmd"`
	HealthEvery   int               `json:"health_interval_secs"`
	HealthTimeout int               `json:"health_timeout_secs"`
	HealthRetries int               `json:"health_retries"`
	HealthGrace   int               `json:"health_startup_grace_secs"`
	Network       bool              `json:"network"`
	*details
}

// details are what `status --json` adds of a running machine.
type details struct {
	Memory    map[string]int64 `json:"memory"`
	Published []published      `json:"published_ports"`
}

type published struct {
	Host      int  `json:"host"`
	Guest     int  `json:"guest"`
	Listening bool `json:"guest_listening"`
}

// show tells of a machine. Whether this boot is a branch source is nothing that smolvm tells.
func (m machine) show() shown {
	s := shown{
		Name: m.Name, State: m.State, CPUs: m.CPUs, Memory: m.Memory, Mounts: len(m.Volumes), Ports: len(m.Ports),
		CreatedAt: m.CreatedAt, Storage: m.Storage, Overlay: m.Overlay, Disks: []string{}, Entrypoint: []string{},
		Cmd: append([]string{}, m.Workload...), Detached: true, Branchable: m.Stored, Forkable: m.Stored, Labels: m.Labels,
		Restart: "never", HealthCmd: []string{}, Network: m.Net,
	}
	if m.Process.PID != 0 {
		s.PID = &m.Process.PID
	}
	if m.Image != "" {
		s.Image = &m.Image
	}
	if m.Parent != "" {
		s.Parent = &m.Parent
	}
	return s
}

// list is `machine ls`.
func (c *call) list() (int, error) {
	c.slow()
	all, err := c.store.all()
	if err != nil {
		return 1, err
	}
	names := slices.Sorted(maps.Keys(all))
	switch {
	case c.args.has("json"):
		out := []shown{}
		for _, name := range names {
			out = append(out, all[name].now().show())
		}
		return 0, printJSON(c.Out, out)
	case c.args.has("quiet"):
		for _, name := range names {
			fmt.Fprintln(c.Out, name)
		}
	default:
		w := tabwriter.NewWriter(c.Out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "NAME\tSTATE\tCPUS\tMEMORY\tMOUNTS\tPORTS\tSTORAGE\tOVERLAY\tBRANCHED FROM")
		for _, name := range names {
			m := all[name].now()
			parent := m.Parent
			if parent == "" {
				parent = "-"
			}
			fmt.Fprintf(w, "%s\t%s\t%d\t%d MiB\t%d\t%d\t%d GiB\t%d GiB\t%s\n",
				m.Name, m.State, m.CPUs, m.Memory, len(m.Volumes), len(m.Ports), m.Storage, m.Overlay, parent)
			if c.args.has("verbose") {
				for _, p := range m.Ports {
					fmt.Fprintf(w, "  port %s\n", p)
				}
			}
		}
		return 0, w.Flush()
	}
	return 0, nil
}

func printJSON(w io.Writer, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err == nil {
		_, err = fmt.Fprintf(w, "%s\n", b)
	}
	return err
}

// status is `machine status`: its two forms do not agree on what they say of a machine that is not there.
func (c *call) status() (int, error) {
	c.slow()
	m, err := c.store.get(c.machine)
	if err != nil {
		if c.args.has("json") {
			return 1, failf("config operation failed: machine status: machine '%s' not found", c.machine)
		}
		return 1, err
	}
	if !c.args.has("json") {
		if m.State == running {
			fmt.Fprintf(c.Out, "Machine '%s': running (PID: %d)\n", m.Name, m.Process.PID)
		} else {
			fmt.Fprintf(c.Out, "Machine '%s': %s\n", m.Name, m.State)
		}
		return 0, nil
	}
	s := m.show()
	if m.State == running {
		s.details = &details{Memory: map[string]int64{}, Published: []published{}}
		for _, key := range []string{
			"total_bytes", "available_bytes", "used_bytes", "free_bytes", "cached_bytes", "swap_total_bytes", "swap_used_bytes",
		} {
			s.details.Memory[key] = 0
		}
		s.details.Memory["total_bytes"] = int64(m.Memory) << 20
		for _, p := range m.Ports {
			s.details.Published = append(s.details.Published, published{p.Host, p.Guest, false})
		}
	}
	return 0, printJSON(c.Out, s)
}

// dataDir is `machine data-dir`.
func (c *call) dataDir() (int, error) {
	if _, err := c.store.get(c.machine); err != nil {
		return 1, err
	}
	fmt.Fprintln(c.Out, c.store.vm(c.machine))
	return 0, nil
}
