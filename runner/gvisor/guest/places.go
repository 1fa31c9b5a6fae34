//go:build linux

package guest

// Places lists what boxer itself makes in a sandbox, or makes anew in each: no other sandbox is to get it.
func Places() []string { return []string{logDir, "/etc/machine-id"} }
