package metrics

import (
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/belayrun/belay/internal/agent"
)

// Buckets, in seconds. Those of the stop are finest where its promises are:
// 1 to 50 ms with push on, 250 ms for the poll and for a mass stop.
var (
	stopBuckets = []float64{
		.0005, .001, .0015, .002, .003, .004, .005, .0075, .01, .015, .02, .03, .04, .05,
		.075, .1, .15, .2, .25, .3, .4, .5, .75, 1, 2, 5, 10, 30,
	}
	firstTextBuckets = []float64{.001, .002, .004, .008, .015, .03, .06, .125, .25, .5, 1, 2, 4, 8, 15, 30, 60}
	queueBuckets     = []float64{.001, .002, .005, .01, .02, .05, .1, .25, .5, 1, 5, 15, 60, 300, 900, 3600}
	modelBuckets     = []float64{.05, .1, .25, .5, 1, 2, 4, 8, 15, 30, 60, 120, 300, 600}
	toolBuckets      = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800}
	flushBuckets     = []float64{.0005, .001, .002, .003, .005, .01, .02, .05, .1, .25, .5, 1, 2, 5}
	httpBuckets      = []float64{.001, .002, .005, .01, .02, .05, .1, .25, .5, 1, 2.5, 10, 60, 300}
	rowBuckets       = []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000}
)

// histogramOpts makes a histogram that has the classic buckets for every
// server and a native histogram for those that scrape it.
func histogramOpts(name, help string, buckets []float64) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{
		Name: name, Help: help, Buckets: buckets,
		NativeHistogramBucketFactor:     1.1,
		NativeHistogramMaxBucketNumber:  160,
		NativeHistogramMinResetDuration: time.Hour,
	}
}

// set holds the values that a label may have.
type set map[string]bool

func setOf[T ~string](values ...T) set {
	s := set{}
	for _, v := range values {
		s[string(v)] = true
	}
	return s
}

// of returns the value if it is one of the set, otherwise "other".
func (s set) of(value string) string {
	if s[value] {
		return value
	}
	return "other"
}

var (
	stopPaths  = setOf("local", "push", "poll")
	stopStages = setOf("told", "model_closed", "settled")

	doors = setOf(agent.DoorClient, agent.DoorResponses, agent.DoorAssistants,
		agent.DoorChat, agent.DoorA2A, agent.DoorStudio, agent.DoorPortal)

	outcomes = setOf(agent.Answered, agent.Stopped, agent.Limited,
		agent.Waiting, agent.Failed, agent.Lost)

	codes = setOf("",
		// failures
		agent.CodeAgentError, agent.CodeModelError, agent.CodeModelAuth, agent.CodeModelDenied,
		agent.CodeModelMissing, agent.CodeModelIdle, agent.CodeTimeout, agent.CodeShutdown, agent.CodeWorkerLost,
		agent.CodeMaxDuration, agent.CodePrecondition,
		// stops that no person asked for
		agent.DetailParentStopped, agent.DetailParentLost, agent.DetailSuperseded,
		// limits
		"max_tool_calls", "max_wall_clock_ms", "max_total_output_tokens", "max_cost_usd", "max_output_tokens")

	toolSources  = setOf(agent.Sources...)
	toolOutcomes = setOf(agent.ToolSuccess, agent.ToolError, agent.ToolAborted, agent.ToolDropped, agent.ToolUnconfirmed)

	callStatuses = setOf(agent.UsageOK, agent.UsageError, agent.UsageCancelled)

	methods = setOf(http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut,
		http.MethodPatch, http.MethodDelete, http.MethodOptions)
)

// name makes a free label value fit for Prometheus, which takes only UTF-8.
func name(s string) string { return strings.ToValidUTF8(s, "�") }

// seconds returns a duration in seconds; a clock that went back measures none.
func seconds(d time.Duration) float64 { return max(d, 0).Seconds() }
