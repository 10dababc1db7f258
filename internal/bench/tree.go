package bench

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"time"
)

// lookEvery is how often processes are looked for that are to appear or to go:
// their end is known no better.
const lookEvery = 2 * time.Millisecond

// tree is the processes that carry a variable in their environment.
type tree struct{ mark []byte }

// newTree is of those that have MARK=mark.
func newTree(mark string) tree { return tree{[]byte("\x00MARK=" + mark + "\x00")} }

// living returns those of the given processes' /proc files that live and carry
// the mark. A process that is dead and not waited for has no environment.
func (t tree) living(files []string) (out []string) {
	for _, f := range files {
		if b, _ := os.ReadFile(f); len(b) > 0 && bytes.Contains(append([]byte{0}, b...), t.mark) {
			out = append(out, f)
		}
	}
	return out
}

// all looks at every process of the machine.
func (t tree) all() []string {
	files, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is right
	return t.living(files)
}

// grown waits until there are n of them; false: ctx has ended.
func (t tree) grown(ctx context.Context, n int) bool {
	for len(t.all()) < n {
		if !pause(ctx, 10*time.Millisecond) {
			return false
		}
	}
	return true
}

// gone waits until there are none and returns the moment; false: ctx has ended.
// Between looks at the whole machine, only those that were known are looked at.
func (t tree) gone(ctx context.Context) (time.Time, bool) {
	for {
		known := t.all()
		if len(known) == 0 {
			return time.Now(), true
		}
		for len(known) > 0 {
			if !pause(ctx, lookEvery) {
				return time.Time{}, false
			}
			known = t.living(known)
		}
		at := time.Now()
		if len(t.all()) == 0 {
			return at, true
		}
	}
}
