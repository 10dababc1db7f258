package pgserver

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// programs are the programs of one Postgres installation.
type programs struct {
	dir   string
	major int
}

func (p programs) path(name string) string { return filepath.Join(p.dir, name) }

// places are where installations are looked for after PATH.
var places = []string{
	"/usr/lib/postgresql/*/bin",          // Debian, Ubuntu
	"/usr/pgsql-*/bin",                   // Red Hat
	"/usr/libexec/postgresql*",           // Alpine
	"/opt/homebrew/opt/postgresql@*/bin", // Homebrew
	"/usr/local/opt/postgresql@*/bin",
	"/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin",
}

// findPrograms returns the installation in dir, or the first of the machine's;
// major, if not 0, is the only version that will do.
func findPrograms(ctx context.Context, dir string, major int) (programs, error) {
	var found []programs
	for _, d := range candidates(dir) {
		if p, ok := inspect(ctx, d); ok {
			found = append(found, p)
		}
	}
	if len(found) == 0 {
		if dir != "" {
			return programs{}, fmt.Errorf("in %s: %w", dir, ErrNoPrograms)
		}
		return programs{}, ErrNoPrograms
	}
	if major == 0 {
		return found[0], nil
	}
	i := slices.IndexFunc(found, func(p programs) bool { return p.major == major })
	if i < 0 {
		return programs{}, fmt.Errorf("the data is of Postgres %d, and only the programs of %d were found: %w",
			major, found[0].major, ErrNoPrograms)
	}
	return found[i], nil
}

// candidates lists directories that may hold an installation, best first.
func candidates(dir string) []string {
	if dir != "" {
		return []string{dir}
	}
	var all []string
	if p, err := exec.LookPath("postgres"); err == nil {
		if p, err = filepath.EvalSymlinks(p); err == nil {
			all = append(all, filepath.Dir(p))
		}
	}
	var rest []string
	for _, g := range places {
		m, _ := filepath.Glob(g) // the patterns are well formed
		rest = append(rest, m...)
	}
	slices.SortStableFunc(rest, func(a, b string) int { return cmp.Compare(versionIn(b), versionIn(a)) })
	return append(all, rest...)
}

var number = regexp.MustCompile(`\d+`)

// versionIn is the first number in s, 0 without one.
func versionIn(s string) int {
	n, _ := strconv.Atoi(number.FindString(s))
	return n
}

func inspect(ctx context.Context, dir string) (programs, bool) {
	p := programs{dir: dir}
	if _, err := os.Stat(p.path("initdb")); err != nil {
		return p, false
	}
	out, err := exec.CommandContext(ctx, p.path("postgres"), "--version").Output()
	if err != nil {
		return p, false
	}
	p.major = versionIn(string(out))
	return p, p.major > 0
}
