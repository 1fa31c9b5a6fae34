//go:build linux

package gvisor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// inHome are the places of a home folder where credentials lie.
var inHome = []string{
	".ssh", ".aws", ".azure", ".config/gcloud", ".gnupg", ".kube", ".docker", ".config/gh", ".git-credentials",
	".config/git/credentials", ".netrc", ".npmrc", ".yarnrc.yml", ".pypirc", ".m2/settings.xml",
	".gradle/gradle.properties", ".cargo/credentials.toml", ".gem/credentials", ".terraform.d", ".vault-token",
	".local/share/keyrings", ".bash_history", ".zsh_history", ".histfile", ".python_history", ".node_repl_history",
	".psql_history", ".mysql_history", ".rediscli_history", ".sqlite_history", ".local/share/fish/fish_history",
}

// ofTheSystem are sockets that give power over the host, and where container engines keep secrets.
var ofTheSystem = []string{
	"/run/docker.sock", "/run/containerd", "/run/podman", "/run/secrets", "/var/run/docker.sock", "/var/run/secrets",
}

// ofTheRunner are what a GitHub runner keeps in its own folder, two above the folder it checks out into.
var ofTheRunner = []string{".credentials", ".credentials_rsaparams", ".runner", "_diag"}

// hiddenPaths lists what a sandbox must not see: what is there by the known names, boxer's own state, other
// checkouts beside the worktree, and what the configuration adds, less what it takes back. Only what exists is
// listed, sorted, so that a folder comes before what lies in it.
func hiddenPaths(h hiding) []string {
	var out []string
	for _, p := range secretPlaces(h) {
		real, err := filepath.EvalSymlinks(p)
		if err != nil || slices.Contains(h.show, real) || real == h.worktree {
			continue
		}
		out = append(out, real)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// secretPlaces are those by their names, whether something is there or not.
func secretPlaces(h hiding) []string {
	list := slices.Concat(ofTheSystem, h.own, h.hide, besides(h.worktree))
	for _, home := range h.homes {
		for _, name := range inHome {
			list = append(list, filepath.Join(home, name))
		}
	}
	if h.runnerTemp != "" {
		list = append(list, h.runnerTemp)
		runner := filepath.Dir(filepath.Dir(h.runnerTemp)) // RUNNER_TEMP is RUNNER/_work/_temp
		for _, name := range ofTheRunner {
			list = append(list, filepath.Join(runner, name))
		}
	}
	return slices.DeleteFunc(list, func(p string) bool { return slices.Contains(h.show, p) })
}

// hiding is what hiddenPaths goes by.
type hiding struct {
	worktree   string
	homes      []string // the caller's home folders
	own        []string // boxer's own folders
	runnerTemp string   // RUNNER_TEMP, "" outside GitHub
	hide, show []string // of the configuration
}

// besides lists the other checkouts in the folder that the worktree lies in: what a CI machine checked out for
// another job or project.
func besides(worktree string) []string {
	all, err := filepath.Glob(filepath.Join(escapeGlob(filepath.Dir(worktree)), "*", ".git"))
	if err != nil {
		return nil
	}
	var out []string
	for _, git := range all {
		if dir := filepath.Dir(git); dir != worktree {
			out = append(out, dir)
		}
	}
	return out
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// contains tells whether path is dir or lies in it.
func contains(dir, path string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// homesOf are the home folders to guard: the caller's, the one the user database names, and the one that commands
// get, which a boxer.yaml may have put elsewhere.
func homesOf(places ...string) []string {
	var homes []string
	for _, h := range places {
		if info, err := os.Stat(h); err == nil && info.IsDir() && h != "/" && !slices.Contains(homes, h) {
			homes = append(homes, h)
		}
	}
	return homes
}
