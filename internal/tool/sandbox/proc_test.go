package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
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

// A process that we may not signal lives, whatever was sent to it. Root may
// signal all: TestItWorksForAnOrdinaryUser runs this as another.
func TestAnotherUsersProcessIsUnconfirmed(t *testing.T) {
	if os.Geteuid() == 0 {
		return
	}
	root, err := readProc(os.Getppid()) // runs the tests as root
	if err != nil {
		t.Fatal(err)
	}
	if err := send(root.identity(), syscall.SIGURG); !errors.Is(err, syscall.EPERM) {
		t.Fatalf("sent: %v", err)
	}
	tree := newTree("no-such-tag", identity{}, false)
	tree.since = root.start
	tree.seen[root.identity()] = true
	if _, err := tree.end(true); !errors.Is(err, agent.ErrUnconfirmed) {
		t.Errorf("err = %v", err)
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
	whole := strings.Repeat("€", maxWhole/2)
	for i := 0; i < len(whole); i += 1000 {
		o.add(0, []byte(whole[i:min(i+1000, len(whole))]))
	}
	for o.piece() {
	}
	text, told := strings.CutSuffix(shown.String(), notShown)
	if !told || strings.Trim(text, "€") != "" || len(text) > maxShown {
		t.Errorf("%d bytes were shown, told %v", len(text), told)
	}
	out, _, truncated := o.text()
	head, note, _ := strings.Cut(out, "\n")
	if !truncated || strings.Trim(head, "€") != "" || note != fmt.Sprintf("[%d more bytes are not shown]", len(whole)-len(head)) {
		t.Errorf("%d bytes were kept, truncated %v, %s", len(out), truncated, note)
	}
}

// TestOutputIsCutToWhatAModelReads: whatever is printed, the JSON of both
// streams is whole and no longer than what the engine would cut.
func TestOutputIsCutToWhatAModelReads(t *testing.T) {
	for name, x := range map[string]struct {
		out, err  string
		truncated bool
	}{
		"little":        {"out\n", "err\n", false},
		"lines":         {strings.Repeat("y\n", 60_000), "", false},
		"on both":       {strings.Repeat("y\n", 60_000), strings.Repeat("\x01", 60_000), false},
		"much error":    {"out", strings.Repeat("e", 500_000), false},
		"much text":     {strings.Repeat("o", 500_000), "err", false},
		"no text":       {strings.Repeat("\xff<>&", 60_000), strings.Repeat("\u2028", 60_000), false},
		"more than all": {strings.Repeat("o", 700_000), strings.Repeat("é", 350_000), true},
	} {
		o := newOutput(nil)
		for i := 0; i < max(len(x.out), len(x.err)); i += 999 {
			o.add(0, []byte(x.out[min(i, len(x.out)):min(i+999, len(x.out))]))
			o.add(1, []byte(x.err[min(i, len(x.err)):min(i+999, len(x.err))]))
		}
		out, errs, truncated := o.text()
		if truncated != x.truncated {
			t.Errorf("%s: truncated %v", name, truncated)
		}
		b, err := json.Marshal(Result{Stdout: out, Stderr: errs})
		if err != nil || len(b) > agent.MaxToolOutput {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
		for text, printed := range map[string]string{out: x.out, errs: x.err} {
			i := strings.LastIndex(text, "\n[")
			var more int
			if n, _ := fmt.Sscanf(text[i+1:], "[%d more bytes are not shown]", &more); n == 0 {
				i = len(text)
			}
			head := strings.ToValidUTF8(printed[:len(printed)-more], "\uFFFD")
			if text[:i] != head || more > 0 && len(b) < agent.MaxToolOutput/2 {
				t.Errorf("%s: a head of %d bytes, %d more of %d", name, i, more, len(printed))
			}
		}
	}
}
