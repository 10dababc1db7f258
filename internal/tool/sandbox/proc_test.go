package sandbox

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/belayrun/belay/internal/agent"
)

func TestParseStatReadsAnyName(t *testing.T) {
	rest := " T 7 8 9 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 4242 1000 10"
	for _, name := range []string{"(sh)", "(a b)", "()", "(x) R 1 1 1)", "(\n)"} {
		p, err := parseStat([]byte("12 " + name + rest))
		if want := (proc{12, 7, 8, 9, 'T', 4242}); err != nil || p != want {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	for _, bad := range []string{"", "12", "12 (sh)", "12 (sh) R 1 2", ") 12 (", "x (sh)" + rest} {
		if p, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q: %+v", bad, p)
		}
	}
}

func TestOnlyTheProcessThatWasSeenIsSignalled(t *testing.T) {
	self, err := readProc(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	parent, err := readProc(os.Getppid())
	if err != nil {
		t.Fatal(err)
	}
	other := parent.identity()
	other.Start++ // its pid was another's before
	for _, id := range []identity{{}, {PID: 1}, {PID: -1}, self.identity(), other} {
		if err := send(id, syscall.SIGURG); err == nil {
			t.Errorf("%+v was signalled", id)
		}
	}
	if err := send(parent.identity(), 0); err != nil {
		t.Error(err)
	}
}

// This process refuses to end itself, so a tree that it belongs to can't be ended.
func TestWhatDoesNotEndIsUnconfirmed(t *testing.T) {
	self, err := readProc(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	tree := newTree("no-such-tag", identity{}, false)
	tree.since = self.start
	tree.seen[self.identity()] = true
	if _, err := tree.end(false); !errors.Is(err, agent.ErrUnconfirmed) {
		t.Errorf("err = %v", err)
	}
	delete(tree.seen, self.identity())
	if _, err := tree.end(false); err != nil {
		t.Errorf("nothing is left: %v", err)
	}
}

func TestTextIsCutBetweenCharacters(t *testing.T) {
	for text, want := range map[string]int{"": 0, "a": 1, "a€": 4, "a\xe2": 1, "a\xe2\x82": 1, "a\xff": 2, "\x82\x82\x82\x82": 4, "a\xf0\x9f\x98": 1} {
		if n := wholeRunes([]byte(text)); n != want {
			t.Errorf("%q: %d, want %d", text, n, want)
		}
	}
	var shown strings.Builder
	o := newOutput(func(s string) { shown.WriteString(s) })
	whole := strings.Repeat("€", maxKept/2)
	for i := 0; i < len(whole); i += 1000 {
		o.add(0, []byte(whole[i:min(i+1000, len(whole))]))
	}
	for o.piece() {
	}
	text, told := strings.CutSuffix(shown.String(), notShown)
	if !told || strings.Trim(text, "€") != "" || len(text) > maxShown {
		t.Errorf("%d bytes were shown, told %v", len(text), told)
	}
	if out, _, cut := o.text(); !cut || strings.Trim(out, "€") != "" {
		t.Errorf("%d bytes were kept, cut %v", len(out), cut)
	}
}
