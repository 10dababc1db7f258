package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/openai/openaitest"
	"github.com/belayrun/belay/internal/postgres/pgtest"
)

type openaitestRequest = openaitest.Request

// 33, 64, 98: a node is killed in the middle of an answer. A stop from the other
// node answers at once and ends the turn as stopped; without a stop the slot is
// free within lease and sweep. What was written is kept.
func TestKilledNode(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	stopped := c.stream(0, "demo", "/slow 6000", nil)
	left := c.stream(0, "demo", "/slow 6000", nil)
	tool := c.stream(0, "slow", "/tool wait {\"seconds\":60}", nil)
	for range 5 {
		stopped.until("response.output_text.delta")
		left.until("response.output_text.delta")
	}
	tool.until("response.mcp_call.in_progress")
	time.Sleep(300 * time.Millisecond) // what was shown is flushed
	calls := c.provider.Count()
	died := time.Now()
	c.nodes[0].kill()

	a := c.stop(1, stopped.conv, nil)
	want(t, "cancelled", a["cancelled"], true)
	follow := c.follow(1, http.MethodGet, "/responses/resp_"+left.run+"?stream=true", nil)
	end := follow.rest()
	if d := time.Since(died); d > 20*time.Second {
		t.Errorf("the slot was free after %v", d)
	}
	want(t, "left alone: last event", end.Type, "response.failed")
	eventually(t, "the stopped turn ends", func() bool { return c.state(1, stopped.conv) == "idle" })
	eventually(t, "the tool's turn ends", func() bool { return c.state(1, tool.conv) == "idle" })
	want(t, "stop reason", c.messages(1, stopped.conv)[1]["stop_reason"], "cancelled")
	for _, s := range []*stream{stopped, left} {
		if kept := c.messages(1, s.conv)[1]["content"].(string); !strings.HasPrefix(kept, s.text()) || s.text() == "" {
			t.Errorf("kept %q, shown %q", kept, s.text())
		}
	}
	want(t, "model calls", c.provider.Count(), calls) // nothing is run again
	c.stream(1, "slow", "what now?", map[string]any{"previous_response_id": "resp_" + tool.conv}).rest()
	r := c.provider.Requests()
	if last := r[len(r)-1]; last.Rejected != "" || !strings.Contains(last.Last("tool"), "not confirmed") {
		t.Errorf("history after the kill: %+v, rejected %q", last.Messages, last.Rejected)
	}
	c.whole()
}

// 66, 69, 70: a node is frozen past its lease, its turns are closed by the other,
// and when it thaws it writes nothing, starts no tool and closes its model call.
func TestFrozenNode(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	s := c.stream(0, "demo", "/slow 6000", nil)
	s.until("response.output_text.delta")
	tool := c.stream(0, "slow", "/wait 2s\n/tool wait {\"seconds\":1}", nil)
	time.Sleep(300 * time.Millisecond)
	n := c.provider.Count()
	c.nodes[0].signal(syscall.SIGSTOP)
	a := c.stop(1, s.conv, map[string]any{"wait_ms": 500})
	want(t, "cancelled", a["cancelled"], true)
	want(t, "while the owner holds its lease", a["stop_status"], "stopping") // 14
	eventually(t, "the sweeper ends the turn", func() bool { return c.state(1, s.conv) == "idle" })
	eventually(t, "and the other", func() bool { return c.state(1, tool.conv) == "idle" })
	kept := c.events(1, s.conv)
	toolKept := c.events(1, tool.conv)
	c.nodes[0].signal(syscall.SIGCONT)
	thawed := time.Now()
	eventually(t, "the provider's connections are closed", func() bool {
		for _, r := range c.provider.Requests() {
			if r.EndedAt.IsZero() {
				return false
			}
		}
		return true
	})
	if d := time.Since(thawed); d > 10*time.Second {
		t.Errorf("the thawed node's model call was closed after %v", d)
	}
	time.Sleep(time.Second)
	want(t, "events after the thaw", c.events(1, s.conv), kept)
	want(t, "the tool's events", c.events(1, tool.conv), toolKept)
	want(t, "model calls", c.provider.Count(), n)
	c.nodes[0].ready()
	c.stream(0, "demo", "/fast 3", nil).rest() // under its new id it works on
	c.whole()
}

// events returns how many events a conversation has, and the last number.
func (c *cluster) events(node int, conv string) string {
	c.t.Helper()
	_, a := c.call(node, http.MethodGet, "/agents/conversations/"+conv+"/events?limit=500", nil)
	list := a["data"].([]any)
	last := list[len(list)-1].(map[string]any)
	return fmt.Sprint(len(list), " ", last["seq"], " ", last["type"])
}

// 43, 72: the database is away from one node, for less than the lease. The stop
// aborts the model call here and says that it is not recorded; no other turn
// ends, and nothing that was shown is lost.
func TestDatabaseAwayForLessThanTheLease(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"cut", "hang"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, 0)
			proxy := pgtest.NewProxy(t, c.url)
			c.start("node-1", proxy.URL()).ready()
			stopped := c.stream(0, "demo", "/slow 6000", nil)
			stopped.until("response.output_text.delta") // so that it is the provider's first request
			other := c.stream(0, "demo", "/say words=120 delay=50ms", nil)
			if how == "cut" {
				proxy.Cut()
			} else {
				proxy.Hang()
			}
			asked := time.Now()
			status, a := c.call(0, http.MethodPost, "/agents/conversations/"+stopped.conv+"/cancel", nil)
			want(t, "status", status, http.StatusServiceUnavailable)
			e, _ := a["error"].(map[string]any)
			want(t, "code", e["code"], "stop_not_recorded")
			want(t, "told", e["told"], true)
			c.closed(1, asked)
			res, err := http.Get(c.nodes[0].url + "/readyz")
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			want(t, "readyz", res.StatusCode, http.StatusServiceUnavailable)
			time.Sleep(2 * time.Second)
			proxy.Restore()
			want(t, "the stopped turn", reason(stopped.rest()), "cancelled")
			end := other.rest()
			want(t, "the other turn", end.Type, "response.completed")
			want(t, "its text is kept", c.messages(0, other.conv)[1]["content"], other.text())
			c.whole()
		})
	}
}

// 72, 73: one node is cut off for longer than its lease; the other takes its
// turns over, and what the cut-off node did is refused when it is back.
func TestDatabaseAwayForMoreThanTheLease(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 0)
	proxy := pgtest.NewProxy(t, c.url)
	c.start("node-1", proxy.URL()).ready()
	c.start("node-2", c.url).ready()
	s := c.stream(0, "demo", "/slow 6000", nil)
	s.until("response.output_text.delta")
	time.Sleep(300 * time.Millisecond)
	proxy.Cut()
	eventually(t, "the other node closes the turn", func() bool { return c.state(1, s.conv) == "idle" })
	kept := c.events(1, s.conv)
	proxy.Restore()
	e := s.rest() // the follower on the cut-off node gets the journal's end
	want(t, "last event", e.Type, "response.failed")
	c.nodes[0].ready()
	want(t, "events", c.events(1, s.conv), kept)
	r, err := c.provider.WaitAborted(t.Context(), 1)
	if err != nil || r.Finished {
		t.Errorf("the model call: %+v, %v", r, err)
	}
	c.whole()
}

// An outage of the whole database for longer than the lease ends no turn.
func TestOutageForEverybodyEndsNoTurn(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 0)
	proxy := pgtest.NewProxy(t, c.url)
	c.start("node-1", proxy.URL()).ready()
	c.start("node-2", proxy.URL()).ready()
	s := c.stream(0, "demo", "/say words=300 delay=50ms", nil)
	s.until("response.output_text.delta")
	proxy.Cut()
	time.Sleep(12 * time.Second)
	proxy.Restore()
	want(t, "last event", s.rest().Type, "response.completed")
	want(t, "kept", c.messages(1, s.conv)[1]["content"], s.text())
	c.whole()
}

// 127: SIGTERM lets turns finish, ends the rest as shutdown and never as a stop.
func TestTermDrains(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	short := c.stream(0, "demo", "/say words=20 delay=100ms", nil)
	var long []*stream
	for range 5 {
		long = append(long, c.stream(0, "demo", "/slow 6000", nil))
	}
	c.nodes[0].signal(syscall.SIGTERM)
	want(t, "a turn that can finish", short.rest().Type, "response.completed")
	select {
	case <-c.nodes[0].dead:
	case <-time.After(patience + 20*time.Second):
		t.Fatal("the node does not end")
	}
	if c.nodes[0].cmd.ProcessState.ExitCode() != 0 {
		t.Errorf("exit: %v", c.nodes[0].cmd.ProcessState)
	}
	for _, s := range long {
		_, a := c.call(1, http.MethodGet, "/responses/resp_"+s.run, nil)
		want(t, "status", a["status"], "failed")
		e, _ := a["error"].(map[string]any)
		want(t, "code", e["code"], "shutdown")
		want(t, "state", c.state(1, s.conv), "idle") // the slot is free at once
	}
	c.whole()
}

// 6, 7, 22, 67: what a provider may do, and a stop in the middle of each.
func TestProviderFaults(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	c.declareModel("impatient", `idle_timeout_ms: 1000`)
	c.agent("impatient", map[string]any{"model": "impatient"})
	for input, want := range map[string]string{
		"/error 429": "provider_error", "/error 500": "provider_error", "/error 401": "provider_authentication_error",
		"/error 403": "provider_permission_error", "/cut": "provider_error", "/break": "provider_error",
		"/malformed": "provider_error", "/silent": "provider_idle_timeout", "/hang": "provider_idle_timeout",
	} {
		t.Run(strings.TrimPrefix(input, "/"), func(t *testing.T) {
			t.Parallel()
			s := c.stream(0, "impatient", input, nil)
			e := s.rest()
			r := e.Data["response"].(map[string]any)
			failure, _ := r["error"].(map[string]any)
			if e.Type != "response.failed" || failure["code"] != want {
				t.Errorf("%s: %s %v", input, e.Type, r["error"])
			}
			if kept := c.messages(0, s.conv); s.text() != "" && kept[len(kept)-1]["content"] != s.text() {
				t.Errorf("%s: kept %v, shown %q", input, kept, s.text())
			}
		})
	}
	for _, input := range []string{"/hang", "/silent", "/wait 60s", "/error 503"} {
		t.Run("stop in "+input, func(t *testing.T) {
			t.Parallel()
			s := c.stream(0, "demo", input, nil)
			time.Sleep(50 * time.Millisecond)
			asked := time.Now()
			a := c.stop(0, s.conv, nil)
			e := s.rest()
			if d := e.At.Sub(asked); d > 2*promise {
				t.Errorf("ended %v after the stop", d)
			}
			if a["cancelled"] == true && reason(e) != "cancelled" {
				t.Errorf("%v, then %v", a, e)
			}
		})
	}
}

// 115, 116: no token or key in logs, answers or rows.
func TestSecretsAreNowhere(t *testing.T) {
	t.Parallel()
	const canary = "sk-canary-0123456789"
	c := newCluster(t, 1, "BELAY_LOG_LEVEL=debug")
	c.declareModel("secret", "api_key: "+canary)
	c.agent("secret", map[string]any{"model": "secret"})
	c.stream(0, "secret", "/fast 3", nil).rest()
	c.stream(0, "secret", "/error 401", nil).rest()
	if got := c.provider.Requests()[0].Header.Get("Authorization"); got != "Bearer "+canary {
		t.Errorf("the provider got %q", got)
	}
	token := c.token
	for _, bad := range []string{token + "x", "belay_short", "Basic " + token} {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, c.nodes[0].url+prefix+"/agents", nil)
		req.Header.Set("Authorization", "Bearer "+bad)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != http.StatusUnauthorized || strings.Contains(string(b), bad) {
			t.Errorf("%d %s", res.StatusCode, b)
		}
	}
	dump := c.dump()
	for name, text := range map[string]string{"log": c.nodes[0].out.String(), "database": dump} {
		for _, s := range []string{canary, token, strings.TrimPrefix(token, "belay_")} {
			if strings.Contains(text, s) {
				t.Errorf("a secret is in the %s", name)
			}
		}
	}
	if !strings.Contains(dump, "turn.ended") {
		t.Error("the dump is empty")
	}
}
