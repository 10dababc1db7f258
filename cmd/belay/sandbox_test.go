package main

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// commandsOf returns the live processes with a mark in their environment, as /proc
// shows them.
func commandsOf(t *testing.T, mark string) (out []string) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		b, err := os.ReadFile(dir + "/environ")
		if err != nil || !strings.Contains("\x00"+string(b), "\x00MARK="+mark+"\x00") {
			continue
		}
		if stat, err := os.ReadFile(dir + "/stat"); err == nil && !strings.Contains(string(stat), ") Z ") {
			out = append(out, string(stat))
		}
	}
	return out
}

// those returns the events of a type that a conversation has.
func (c *cluster) those(node int, conv, kind string) (out []map[string]any) {
	c.t.Helper()
	for _, e := range c.journal(node, conv) {
		if e["type"] == kind {
			out = append(out, e)
		}
	}
	return out
}

// runShell begins a turn whose sandbox runs a command line, and waits until it
// has as many processes and was seen to print "ready".
func (c *cluster) runShell(node int, line string, processes int) (s *stream, mark string) {
	c.t.Helper()
	if _, err := exec.LookPath("bwrap"); err != nil {
		c.t.Fatal("this needs bubblewrap: run .ci/install test, or make test, which does")
	}
	mark = rand.Text()
	s = c.stream(node, "shell", fmt.Sprintf(`/tool exec {"command":"echo ready; %s","env":{"MARK":%q},"timeout_ms":0}`, line, mark), nil)
	s.until("response.mcp_call.in_progress")
	eventually(c.t, "the command's processes run", func() bool { return len(commandsOf(c.t, mark)) >= processes })
	eventually(c.t, "its output is shown", func() bool {
		return slices.ContainsFunc(c.those(1-node, s.conv, "tool.output"), func(e map[string]any) bool {
			return strings.Contains(fmt.Sprint(e["data"]), "ready")
		})
	})
	return s, mark
}

// 57, 58: a stop through the other node ends a command with all that it started,
// and says so once it is true.
func TestAStopEndsACommandAsAWhole(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"bwrap", "unconfined"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, 2, "BELAY_SANDBOX="+how)
			for line, processes := range map[string]int{
				"sleep 300 | cat & wait":                                     3,
				"setsid sleep 300 & trap true TERM; sleep 300; true":         3,
				"for i in $(seq 50); do sleep 300 & done; wait":              51,
				"sleep 300 & kill -STOP $!; (trap '' TERM; sleep 300; true)": 3,
			} {
				s, mark := c.runShell(0, line, processes)
				asked := time.Now()
				answer := c.stop(1, s.conv, map[string]any{"wait_ms": 10000})
				took := time.Since(asked)
				if left := commandsOf(t, mark); len(left) > 0 {
					t.Errorf("%s left %q", line, left)
				}
				want(t, "stop_status", answer["stop_status"], "stopped")
				want(t, "reason", reason(s.rest()), "cancelled")
				done := c.those(0, s.conv, "tool.finished")
				if len(done) != 1 || !strings.Contains(fmt.Sprint(done), "aborted") {
					t.Errorf("%s: %v", line, done)
				}
				t.Logf("%s: gone and told after %v", line, took)
				if took > 2*promise {
					t.Errorf("%s took %v", line, took)
				}
			}
			c.whole()
		})
	}
}

// A node that is killed leaves no command behind: bubblewrap's die with it, and
// the others are ended when a node of that name starts again.
func TestAKilledNodesCommandsAreEnded(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"bwrap", "unconfined"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, 2, "BELAY_SANDBOX="+how)
			_, mark := c.runShell(0, "setsid sleep 300 & (trap '' TERM; sleep 300; true) & wait", 4)
			c.nodes[0].signal(syscall.SIGKILL)
			<-c.nodes[0].dead
			if how == "unconfined" && len(commandsOf(t, mark)) == 0 {
				t.Error("nothing was left to be ended")
			}
			c.start("node-1", c.url, "BELAY_SANDBOX="+how).ready()
			if left := commandsOf(t, mark); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
}

// Without bubblewrap nothing runs, and the call's answer says what to do.
func TestNothingRunsWithoutBubblewrap(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, "PATH="+t.TempDir())
	s := c.stream(0, "shell", `/tool exec {"command":"true"}`, nil)
	want(t, "the turn", s.rest().Type, "response.completed")
	if done := fmt.Sprint(c.those(0, s.conv, "tool.finished")); !strings.Contains(done, "outcome:error") || !strings.Contains(done, "install bubblewrap") {
		t.Error(done)
	}
}
