package mcp_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
)

// shell makes a server's command run by a shell that does something before.
func (x *fixture) shell(before string) {
	m := x.ref.MCP
	m.Command = []string{"sh", "-c", before + ` exec "$0"`, os.Args[0]}
}

func TestNothingIsLeftOfACommand(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]string{
		"plain":           "",
		"a child":         "sleep 300 & ",
		"a pipeline":      "sleep 300 | cat & ",
		"another session": "setsid sleep 300 & ",
		"a double fork":   "(sleep 300 &) ; ",
		"deaf to TERM":    "trap '' TERM; (trap '' TERM; sleep 300) & ",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := goCommand(t)
			x.shell(before)
			s := x.source()
			if got := call(t, open(t, s, x.ref)["echo"], `{"text":"a"}`); got != "a" {
				t.Fatal(got)
			}
			if len(marked(x.log)) == 0 {
				t.Fatal("nothing runs")
			}
			began := time.Now()
			s.Close()
			if d := time.Since(began); d > 4*time.Second {
				t.Errorf("Close took %v", d)
			}
			if left := marked(x.log); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

func TestNodeSecretsAreNotTheCommands(t *testing.T) {
	t.Setenv("BELAY_SECRET_KEY", "very-secret")
	x := goCommand(t)
	open(t, x.source(), x.ref)
	for _, pid := range marked(x.log) {
		if b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); strings.Contains(string(b), "very-secret") {
			t.Error("the command has the node's environment")
		}
	}
}

func TestBrokenCommandsAreExplained(t *testing.T) {
	t.Parallel()
	x := goCommand(t)
	s := x.source()
	for want, command := range map[string][]string{
		"no such key":  {"sh", "-c", "echo no such key >&2; exit 3"},
		"not found":    {"no-such-program-anywhere"},
		"deadline":     {"sleep", "300"},
		"invalid char": {"sh", "-c", "echo hello; cat >/dev/null"},
	} {
		x.ref.MCP.Command = command
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err := s.Open(ctx, agent.Session{}, x.ref)
		cancel()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", command, err)
		}
		if left := marked(x.log); len(left) > 0 {
			t.Errorf("%v: left %v", command, left)
		}
	}
}

// A command that reads nothing any more holds a call in the middle of its
// writing: a stop ends it all the same, and the next call gets a new command.
func TestFrozenCommandHoldsNobody(t *testing.T) {
	t.Parallel()
	x := goCommand(t)
	box := open(t, x.source(), x.ref)
	pids := marked(x.log)
	if len(pids) != 1 {
		t.Fatal(pids)
	}
	if err := syscall.Kill(pids[0], syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	big := []byte(`{"text":"` + strings.Repeat("a", 1<<20) + `"}`)
	eventually(t, "the frozen command is given up", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if _, err := box["echo"].Call(ctx, big); err == nil {
			return true // by a new one: the frozen one can't
		}
		ended, _ := ctx.Deadline()
		if d := time.Since(ended); d > promise {
			t.Errorf("the call ended %v after its time", d)
		}
		return !slices.Contains(marked(x.log), pids[0])
	})
	if got := call(t, box["echo"], `{"text":"next"}`); got != "next" {
		t.Errorf("the next call: %q", got)
	}
	eventually(t, "the frozen command is gone", func() bool { return !slices.Contains(marked(x.log), pids[0]) })
}
