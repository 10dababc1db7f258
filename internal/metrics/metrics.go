// Package metrics counts what a node does, for Prometheus.
//
// A Metrics belongs to one node and one Registerer. It keeps no globals: two
// nodes in one process each make their own, on registries of their own or on
// one registry that is wrapped with a constant label:
//
//	prometheus.WrapRegistererWith(prometheus.Labels{"node": name}, reg)
//
// All methods may be called from any goroutine and none blocks or fails. Label
// values that come from outside are held to known sets ("other" stands for the
// rest), so a caller cannot grow the number of series; the exceptions are
// models and routes, which the operator and the program name.
package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics holds a node's metrics. Make it with New.
type Metrics struct {
	reg prometheus.Registerer

	stop       *prometheus.HistogramVec
	overBudget prometheus.Counter

	running   *prometheus.GaugeVec
	ended     *prometheus.CounterVec
	firstText prometheus.Histogram

	queued     prometheus.Histogram
	runExpired prometheus.Counter

	modelCall *prometheus.HistogramVec
	tokens    *prometheus.CounterVec
	cost      *prometheus.CounterVec
	toolCall  *prometheus.HistogramVec

	flushRows    prometheus.Histogram
	flush        *prometheus.HistogramVec
	slotsLost    prometheus.Counter
	slotsSwept   prometheus.Counter
	declaredDead prometheus.Counter
	notifyFailed prometheus.Counter

	jobs jobs

	http *prometheus.HistogramVec
}

// New registers a node's metrics. Like every registration at start-up it panics
// when reg already holds metrics of these names with the same constant labels:
// that is a mistake in the wiring.
func New(reg prometheus.Registerer) *Metrics {
	m := &Metrics{reg: reg}
	m.makeTurns()
	m.makeModel()
	m.makeJournal()
	m.makeJobs()
	m.http = m.histogramVec("belay_http_request_seconds",
		"Time from a request to the end of its response, by route pattern. For a stream that is the life of the stream.",
		httpBuckets, "route", "method", "status")
	m.zero()
	return m
}

func (m *Metrics) makeTurns() {
	m.stop = m.histogramVec("belay_stop_seconds",
		"Time from a stop's request to a stage of it: told (the turn's context is cancelled), model_closed (the provider's connection is closed), settled (the end is stored). Path is how the owner learned of it: local, push or poll.",
		stopBuckets, "path", "stage")
	m.overBudget = m.counter("belay_stops_over_budget_total", "Stops that took longer than their budget.")
	m.running = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "belay_turns_running", Help: "Turns that this node runs now, by door.",
	}, []string{"door"})
	m.reg.MustRegister(m.running)
	m.ended = m.counterVec("belay_turns_ended_total",
		"Turns that ended on this node, by outcome and door. Code says why: a failure's code, a stop's detail or the limit; empty where there is nothing to say. Outcome waiting is a turn that paused for a person and may go on.",
		"outcome", "door", "code")
	m.firstText = m.histogram("belay_first_text_seconds", "Time from the begin of a turn to its first text.", firstTextBuckets)
	m.queued = m.histogram("belay_queue_seconds", "Time that turns spent in the queue before this node claimed them.", queueBuckets)
	m.runExpired = m.counter("belay_runs_expired_total", "Background runs that this node ended because no node had taken them in time.")
}

func (m *Metrics) makeModel() {
	m.modelCall = m.histogramVec("belay_model_call_seconds",
		"Time from sending a model call to the end of its stream. Status cancelled is a call that a stop aborted.",
		modelBuckets, "model", "status")
	m.tokens = m.counterVec("belay_tokens_total",
		"Tokens of model calls. Estimated ones were counted by the node, because the provider sent no count.",
		"model", "direction", "estimated")
	m.cost = m.counterVec("belay_cost_usd_total", "Cost of model calls in US dollars, by the model's configured prices.", "model")
	m.toolCall = m.histogramVec("belay_tool_call_seconds",
		"Time from the start of a tool call to its end, by the source of the tool and outcome. Outcome aborted is a call that a stop ended; dropped one that could not be aborted and whose result is used for nothing; unconfirmed one of which nobody can say whether it ran or still runs.",
		toolBuckets, "source", "outcome")
}

func (m *Metrics) makeJournal() {
	m.flushRows = m.histogram("belay_flush_rows", "Rows in one write of the journal.", rowBuckets)
	m.flush = m.histogramVec("belay_flush_seconds", "Time of one write of the journal, by result: ok or error.", flushBuckets, "result")
	m.slotsLost = m.counter("belay_slots_lost_total", "Slots that this node ran and found to be no longer its own.")
	m.slotsSwept = m.counter("belay_slots_swept_total", "Slots of dead nodes that this node settled.")
	m.declaredDead = m.counter("belay_nodes_declared_dead_total", "Nodes that this node declared dead.")
	m.notifyFailed = m.counter("belay_notify_failed_total", "Hints to other nodes that could not be sent; their polls find the work later.")
}

// zero makes the series that alerts and dashboards look at exist from the
// start: a rate over a series that is born with its first event misses it.
func (m *Metrics) zero() {
	for path := range stopPaths {
		for stage := range stopStages {
			m.stop.WithLabelValues(path, stage)
		}
	}
	m.flush.WithLabelValues("ok")
	m.flush.WithLabelValues("error")
}

// StopStage records how long after its request a stop reached a stage. Path is
// local, push or poll; stage is told, model_closed or settled.
func (m *Metrics) StopStage(path, stage string, d time.Duration) {
	m.stop.WithLabelValues(stopPaths.of(path), stopStages.of(stage)).Observe(seconds(d))
}

// StopOverBudget records a stop that took longer than its budget.
func (m *Metrics) StopOverBudget() { m.overBudget.Inc() }

// TurnStarted records that this node began to run a leg of a turn. Each call is
// followed by one TurnEnded with the same door.
func (m *Metrics) TurnStarted(door string) { m.running.WithLabelValues(doors.of(door)).Inc() }

// TurnEnded records how a leg that TurnStarted announced has ended. Outcome is
// an agent.OutcomeKind. Code is the failure's code for failed and lost, the
// detail for stopped and the name of the limit for limited; empty for the rest
// and for a stop that a person asked for.
func (m *Metrics) TurnEnded(outcome, door, code string) {
	m.running.WithLabelValues(doors.of(door)).Dec()
	m.ended.WithLabelValues(outcomes.of(outcome), doors.of(door), codes.of(code)).Inc()
}

// Claimed records a turn that this node claimed, after d in the queue.
func (m *Metrics) Claimed(d time.Duration) { m.queued.Observe(seconds(d)) }

// RunExpired records a background run that was queued for longer than it may.
func (m *Metrics) RunExpired() { m.runExpired.Inc() }

// FirstText records the time from the begin of a turn to its first text.
func (m *Metrics) FirstText(d time.Duration) { m.firstText.Observe(seconds(d)) }

// ModelCall records one request to a provider. Model is the model's key, status
// an agent.UsageStatus, latency the time from sending to the end of the stream.
func (m *Metrics) ModelCall(model, status string, latency time.Duration) {
	m.modelCall.WithLabelValues(name(model), callStatuses.of(status)).Observe(seconds(latency))
}

// ToolCall records one call of a tool. Source is one of agent.Sources, outcome an
// agent.ToolOutcome; a tool that there was not has no source.
func (m *Metrics) ToolCall(source, outcome string, d time.Duration) {
	m.toolCall.WithLabelValues(toolSources.of(source), toolOutcomes.of(outcome)).Observe(seconds(d))
}

// Tokens records the tokens of one model call; numbers below zero count as none.
func (m *Metrics) Tokens(model string, input, output int64, estimated bool) {
	e := strconv.FormatBool(estimated)
	m.tokens.WithLabelValues(name(model), "input", e).Add(float64(max(input, 0)))
	m.tokens.WithLabelValues(name(model), "output", e).Add(float64(max(output, 0)))
}

// Cost records what one model call cost; anything but a positive number counts
// as nothing.
func (m *Metrics) Cost(model string, usd float64) {
	if usd > 0 { // false for NaN, too
		m.cost.WithLabelValues(name(model)).Add(usd)
	}
}

// Flush records one write of the journal: its rows, its time, whether it failed.
func (m *Metrics) Flush(rows int, d time.Duration, failed bool) {
	result := "ok"
	if failed {
		result = "error"
	}
	m.flushRows.Observe(float64(rows))
	m.flush.WithLabelValues(result).Observe(seconds(d))
}

// SlotLost records a slot that this node ran and found to be no longer its own.
func (m *Metrics) SlotLost() { m.slotsLost.Inc() }

// SlotSwept records n slots of dead nodes that this node settled.
func (m *Metrics) SlotSwept(n int) { m.slotsSwept.Add(float64(max(n, 0))) }

// NodeDeclaredDead records that this node declared another one dead.
func (m *Metrics) NodeDeclaredDead() { m.declaredDead.Inc() }

// NotifyFailed records a hint to other nodes that could not be sent.
func (m *Metrics) NotifyFailed() { m.notifyFailed.Inc() }

// HTTPRequest records an answered request. Route is the pattern that matched,
// never the path; empty: none matched.
func (m *Metrics) HTTPRequest(route, method string, status int, d time.Duration) {
	if route == "" {
		route = "unmatched"
	}
	m.http.WithLabelValues(name(route), methods.of(method), strconv.Itoa(status)).Observe(seconds(d))
}

func (m *Metrics) counter(name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	m.reg.MustRegister(c)
	return c
}

func (m *Metrics) counterVec(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	m.reg.MustRegister(c)
	return c
}

func (m *Metrics) histogram(name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(histogramOpts(name, help, buckets))
	m.reg.MustRegister(h)
	return h
}

func (m *Metrics) histogramVec(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(histogramOpts(name, help, buckets), labels)
	m.reg.MustRegister(h)
	return h
}
