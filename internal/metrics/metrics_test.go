package metrics_test

import (
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"
	"go.uber.org/goleak"

	"github.com/belayrun/belay/internal/metrics"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// useAll calls every method once, so that every metric has a series.
func useAll(m *metrics.Metrics) {
	m.StopStage("local", "told", time.Millisecond)
	m.StopOverBudget()
	m.TurnStarted("client")
	m.TurnEnded("answered", "client", "")
	m.FirstText(time.Millisecond)
	m.Claimed(time.Millisecond)
	m.RunExpired()
	m.ClaimedTurns(func() (int, int) { return 3, 64 })
	m.ModelCall("demo", "ok", time.Second)
	m.ToolCall("mcp", "success", time.Second)
	m.Tokens("demo", 1, 1, false)
	m.Cost("demo", 0.01)
	m.Flush(3, time.Millisecond, false)
	m.SlotLost()
	m.SlotSwept(2)
	m.NodeDeclaredDead()
	m.NotifyFailed()
	m.CallbackAttempt("run", "delivered", time.Millisecond, time.Second)
	m.Depth("runs", 3, time.Second)
	m.DeadCallbacks(1)
	m.Retained("deltas", 2)
	m.HTTPRequest("/api/v1/agents/{agent}", "GET", 200, time.Millisecond)
	m.LeaseAge(func() time.Duration { return 1500 * time.Millisecond })
	m.Push(func() bool { return true })
	m.Followers(func() int { return 7 })
	m.Pool("main", func() metrics.PoolStat {
		return metrics.PoolStat{Acquired: 3, Idle: 2, Max: 10, WaitCount: 4, WaitTime: 2 * time.Second}
	})
	m.Pool("queue", func() metrics.PoolStat { return metrics.PoolStat{} })
}

// expect compares the named metrics of a registry with the text they must have.
func expect(t *testing.T, reg prometheus.Gatherer, want string, names ...string) {
	t.Helper()
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
}

func TestMetricsKeepPrometheusConventions(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewPedanticRegistry()
	useAll(metrics.New(reg))
	problems, err := testutil.GatherAndLint(reg)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestTwoNodesInOneProcess(t *testing.T) {
	t.Parallel()
	t.Run("a registry each", func(t *testing.T) {
		a, b := prometheus.NewPedanticRegistry(), prometheus.NewPedanticRegistry()
		useAll(metrics.New(a))
		useAll(metrics.New(b))
		for _, reg := range []prometheus.Gatherer{a, b} {
			expect(t, reg, `
# HELP belay_slots_swept_total Slots of dead nodes that this node settled.
# TYPE belay_slots_swept_total counter
belay_slots_swept_total 2
`, "belay_slots_swept_total")
		}
	})
	t.Run("one registry, a constant label each", func(t *testing.T) {
		reg := prometheus.NewPedanticRegistry()
		for _, node := range []string{"one", "two"} {
			useAll(metrics.New(prometheus.WrapRegistererWith(prometheus.Labels{"node": node}, reg)))
		}
		expect(t, reg, `
# HELP belay_followers Streams that follow sessions on this node.
# TYPE belay_followers gauge
belay_followers{node="one"} 7
belay_followers{node="two"} 7
`, "belay_followers")
	})
	t.Run("one registry without labels is refused", func(t *testing.T) {
		reg := prometheus.NewRegistry()
		metrics.New(reg)
		defer func() {
			if recover() == nil {
				t.Error("the second registration on one registry went through")
			}
		}()
		metrics.New(reg)
	})
}

func TestStopLatencyIsCountedByPathAndStage(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewPedanticRegistry()
	m := metrics.New(reg)
	if n, err := testutil.GatherAndCount(reg, "belay_stop_seconds"); err != nil || n != 9 {
		t.Errorf("before the first stop: %d series, error %v, want all 9 at zero", n, err)
	}
	m.StopStage("push", "told", 3*time.Millisecond)
	m.StopStage("push", "told", 240*time.Millisecond)
	m.StopStage("push", "told", -time.Second) // a clock that went back
	out, err := testutil.GatherAndFormat(reg, expfmt.TypeTextPlain, "belay_stop_seconds")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`belay_stop_seconds_bucket{path="push",stage="told",le="0.0005"} 1`,
		`belay_stop_seconds_bucket{path="push",stage="told",le="0.003"} 2`,
		`belay_stop_seconds_bucket{path="push",stage="told",le="0.2"} 2`,
		`belay_stop_seconds_bucket{path="push",stage="told",le="0.25"} 3`,
		`belay_stop_seconds_bucket{path="local",stage="settled",le="30"} 0`,
		`belay_stop_seconds_count{path="push",stage="told"} 3`,
		`belay_stop_seconds_count{path="poll",stage="model_closed"} 0`,
	} {
		if !strings.Contains(string(out), want+"\n") {
			t.Errorf("no line %q in\n%s", want, out)
		}
	}
}

func TestTurnsRunningGoesBackToZero(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewPedanticRegistry()
	m := metrics.New(reg)
	m.TurnStarted("client")
	m.TurnStarted("client")
	m.TurnStarted("studio")
	m.TurnEnded("stopped", "client", "")
	m.TurnEnded("failed", "studio", "provider_error")
	expect(t, reg, `
# HELP belay_turns_running Turns that this node runs now, by door.
# TYPE belay_turns_running gauge
belay_turns_running{door="client"} 1
belay_turns_running{door="studio"} 0
`, "belay_turns_running")
	expect(t, reg, `
# HELP belay_turns_ended_total Turns that ended on this node, by outcome and door. Code says why: a failure's code, a stop's detail or the limit; empty where there is nothing to say. Outcome waiting is a turn that paused for a person and may go on.
# TYPE belay_turns_ended_total counter
belay_turns_ended_total{code="",door="client",outcome="stopped"} 1
belay_turns_ended_total{code="provider_error",door="studio",outcome="failed"} 1
`, "belay_turns_ended_total")
}

func TestUnknownLabelValuesBecomeOther(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewPedanticRegistry()
	m := metrics.New(reg)
	for _, junk := range []string{"x1", "x2", "x3", "\xff"} {
		m.StopStage(junk, junk, time.Millisecond)
		m.TurnStarted(junk)
		m.TurnEnded(junk, junk, junk)
		m.ModelCall("demo", junk, time.Millisecond)
		m.HTTPRequest("", junk, 404, time.Millisecond)
	}
	for metric, want := range map[string]int{
		"belay_stop_seconds":         10, // the nine and other
		"belay_turns_running":        1,
		"belay_turns_ended_total":    1,
		"belay_model_call_seconds":   1,
		"belay_http_request_seconds": 1,
	} {
		if n, err := testutil.GatherAndCount(reg, metric); err != nil || n != want {
			t.Errorf("%s: %d series, error %v, want %d", metric, n, err, want)
		}
	}
}

func TestBadNumbersAndTextDoNotPanic(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewPedanticRegistry()
	m := metrics.New(reg)
	m.Tokens("de\xffmo", -1, 5, true)
	m.Cost("demo", -1)
	m.Cost("demo", math.NaN())
	m.Cost("demo", 0.25)
	m.SlotSwept(-3)
	m.HTTPRequest("/\xff", "GET", -1, -time.Second)
	expect(t, reg, `
# HELP belay_tokens_total Tokens of model calls. Estimated ones were counted by the node, because the provider sent no count.
# TYPE belay_tokens_total counter
belay_tokens_total{direction="input",estimated="true",model="de�mo"} 0
belay_tokens_total{direction="output",estimated="true",model="de�mo"} 5
# HELP belay_cost_usd_total Cost of model calls in US dollars, by the model's configured prices.
# TYPE belay_cost_usd_total counter
belay_cost_usd_total{model="demo"} 0.25
`, "belay_tokens_total", "belay_cost_usd_total")
}

func TestPoolFiguresAreReadAtTheScrape(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewPedanticRegistry()
	m := metrics.New(reg)
	var stat metrics.PoolStat
	m.Pool("main", func() metrics.PoolStat { return stat })
	stat = metrics.PoolStat{Acquired: 3, Idle: 2, Max: 10, WaitCount: 4, WaitTime: 2500 * time.Millisecond}
	expect(t, reg, `
# HELP belay_pool_acquired_connections Connections of the pool that are in use.
# TYPE belay_pool_acquired_connections gauge
belay_pool_acquired_connections{pool="main"} 3
# HELP belay_pool_idle_connections Connections of the pool that are open and free.
# TYPE belay_pool_idle_connections gauge
belay_pool_idle_connections{pool="main"} 2
# HELP belay_pool_max_connections Most connections that the pool opens.
# TYPE belay_pool_max_connections gauge
belay_pool_max_connections{pool="main"} 10
# HELP belay_pool_waits_total Acquires that had to wait for a connection.
# TYPE belay_pool_waits_total counter
belay_pool_waits_total{pool="main"} 4
# HELP belay_pool_wait_seconds_total Time spent waiting for a connection.
# TYPE belay_pool_wait_seconds_total counter
belay_pool_wait_seconds_total{pool="main"} 2.5
`, "belay_pool_acquired_connections", "belay_pool_idle_connections", "belay_pool_max_connections",
		"belay_pool_waits_total", "belay_pool_wait_seconds_total")
}

func TestGaugesFollowTheirFunctions(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewPedanticRegistry()
	m := metrics.New(reg)
	on := true
	m.Push(func() bool { return on })
	m.LeaseAge(func() time.Duration { return 1500 * time.Millisecond })
	expect(t, reg, `
# HELP belay_lease_age_seconds Time since the node's lease was last renewed.
# TYPE belay_lease_age_seconds gauge
belay_lease_age_seconds 1.5
# HELP belay_push 1 while the node listens for hints, 0 while it only polls.
# TYPE belay_push gauge
belay_push 1
`, "belay_lease_age_seconds", "belay_push")
	on = false
	expect(t, reg, `
# HELP belay_push 1 while the node listens for hints, 0 while it only polls.
# TYPE belay_push gauge
belay_push 0
`, "belay_push")
}

func TestEveryMethodMayBeCalledAtOnce(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewRegistry()
	m := metrics.New(reg)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				m.TurnStarted("client")
				m.StopStage("local", "told", time.Millisecond)
				m.Flush(1, time.Millisecond, true)
				m.TurnEnded("answered", "client", "")
				if _, err := reg.Gather(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	expect(t, reg, `
# HELP belay_turns_running Turns that this node runs now, by door.
# TYPE belay_turns_running gauge
belay_turns_running{door="client"} 0
`, "belay_turns_running")
}

// TestToolCallsAreCountedByKnownWords: a model may call a tool by any name, and
// a source may be named by anybody; neither makes a series.
func TestToolCallsAreCountedByKnownWords(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewPedanticRegistry()
	m := metrics.New(reg)
	for _, o := range []string{"success", "error", "aborted", "dropped", "unconfirmed"} {
		m.ToolCall("sandbox", o, 300*time.Millisecond)
	}
	for _, source := range []string{"", "a name of a model's", "another"} {
		m.ToolCall(source, "a new outcome", time.Millisecond)
	}
	out, err := testutil.GatherAndFormat(reg, expfmt.TypeTextPlain, "belay_tool_call_seconds")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`belay_tool_call_seconds_bucket{outcome="aborted",source="sandbox",le="0.25"} 0`,
		`belay_tool_call_seconds_bucket{outcome="aborted",source="sandbox",le="0.5"} 1`,
		`belay_tool_call_seconds_count{outcome="unconfirmed",source="sandbox"} 1`,
		`belay_tool_call_seconds_count{outcome="other",source="other"} 3`,
	} {
		if !strings.Contains(string(out), want+"\n") {
			t.Errorf("no line %q in\n%s", want, out)
		}
	}
	if n := testutil.CollectAndCount(reg, "belay_tool_call_seconds"); n != 6 {
		t.Errorf("%d series, want 6", n)
	}
}
