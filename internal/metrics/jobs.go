package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/belayrun/belay/internal/agent"
)

var (
	attemptBuckets  = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 15}
	deliveryBuckets = []float64{.05, .1, .25, .5, 1, 2, 5, 15, 60, 300, 1800, 7200, 43200}

	callbackKinds    = setOf(agent.CallbackRun, agent.CallbackA2A)
	callbackOutcomes = setOf("delivered", "retry", "dead")
	queues           = setOf("runs", "callbacks")
	retained         = setOf("deltas", "runs", "callbacks", "audit")
)

// jobs are the metrics of what nobody waits for.
type jobs struct {
	attempt  *prometheus.HistogramVec
	delivery *prometheus.HistogramVec
	depth    *prometheus.GaugeVec
	oldest   *prometheus.GaugeVec
	dead     prometheus.Gauge
	retained *prometheus.CounterVec
}

func (m *Metrics) makeJobs() {
	m.jobs = jobs{
		attempt: m.histogramVec("belay_callback_attempt_seconds",
			"Time of one attempt to deliver a callback, by outcome: delivered, retry (another follows) or dead (it was given up).",
			attemptBuckets, "kind", "outcome"),
		delivery: m.histogramVec("belay_callback_delivery_seconds",
			"Time from what a callback tells to its delivery, with all attempts before.", deliveryBuckets, "kind"),
		depth: m.gaugeVec("belay_queue_depth",
			"What waits in the cluster, as this node has read it last: runs for a node, callbacks for their receiver.", "queue"),
		oldest: m.gaugeVec("belay_queue_oldest_seconds", "How long what waits longest has been waiting.", "queue"),
		dead:   prometheus.NewGauge(prometheus.GaugeOpts{Name: "belay_callbacks_dead", Help: "Callbacks in the cluster that were given up and are still kept."}),
		retained: m.counterVec("belay_retention_deleted_total",
			"What retention has deleted on this node, by rule: turns whose deltas are gone, conversations, callbacks, audit entries.", "rule"),
	}
	m.reg.MustRegister(m.jobs.dead)
	for kind := range callbackKinds {
		m.jobs.delivery.WithLabelValues(kind)
		for outcome := range callbackOutcomes {
			m.jobs.attempt.WithLabelValues(kind, outcome)
		}
	}
}

func (m *Metrics) gaugeVec(name, help string, labels ...string) *prometheus.GaugeVec {
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	m.reg.MustRegister(g)
	return g
}

// CallbackAttempt records one attempt of a delivery: how long it took, and how
// old the delivery was when it ended. Outcome is delivered, retry or dead.
func (m *Metrics) CallbackAttempt(kind, outcome string, took, age time.Duration) {
	m.jobs.attempt.WithLabelValues(callbackKinds.of(kind), callbackOutcomes.of(outcome)).Observe(seconds(took))
	if outcome == "delivered" {
		m.jobs.delivery.WithLabelValues(callbackKinds.of(kind)).Observe(seconds(age))
	}
}

// Depth records how much waits in a queue of the cluster, runs or callbacks, and
// for how long what waits longest has.
func (m *Metrics) Depth(queue string, n int, oldest time.Duration) {
	m.jobs.depth.WithLabelValues(queues.of(queue)).Set(float64(n))
	m.jobs.oldest.WithLabelValues(queues.of(queue)).Set(seconds(oldest))
}

// DeadCallbacks records how many deliveries the cluster has given up.
func (m *Metrics) DeadCallbacks(n int) { m.jobs.dead.Set(float64(n)) }

// Retained records what one rule of retention has deleted.
func (m *Metrics) Retained(rule string, n int) {
	m.jobs.retained.WithLabelValues(retained.of(rule)).Add(float64(max(n, 0)))
}
