package metrics_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/belayrun/belay/internal/metrics"
)

func TestOnlyADeliveryThatArrivedHasALatency(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewPedanticRegistry()
	m := metrics.New(reg)
	m.CallbackAttempt("run", "retry", time.Second, time.Minute)
	m.CallbackAttempt("run", "dead", time.Second, time.Hour)
	m.CallbackAttempt("run", "delivered", time.Second, 2*time.Second)
	m.CallbackAttempt("mail", "lost", time.Second, time.Second)
	counts := map[string]uint64{}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, x := range f.GetMetric() {
			var labels strings.Builder
			for _, l := range x.GetLabel() {
				labels.WriteString(" " + l.GetValue())
			}
			if n := x.GetHistogram().GetSampleCount(); n > 0 {
				counts[f.GetName()+labels.String()] = n
			}
		}
	}
	want := map[string]uint64{
		"belay_callback_attempt_seconds run retry": 1, "belay_callback_attempt_seconds run dead": 1,
		"belay_callback_attempt_seconds run delivered": 1, "belay_callback_attempt_seconds other other": 1,
		"belay_callback_delivery_seconds run": 1,
	}
	for name, n := range want {
		if counts[name] != n {
			t.Errorf("%s: %d, want %d", name, counts[name], n)
		}
	}
	if len(counts) != len(want) {
		t.Errorf("counts %v", counts)
	}
}

func TestDepthsAreThoseReadLast(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewPedanticRegistry()
	m := metrics.New(reg)
	m.Depth("runs", 9, time.Hour)
	m.Depth("runs", 4, 1500*time.Millisecond)
	m.DeadCallbacks(2)
	expect(t, reg, `
# HELP belay_callbacks_dead Callbacks in the cluster that were given up and are still kept.
# TYPE belay_callbacks_dead gauge
belay_callbacks_dead 2
# HELP belay_queue_depth What waits in the cluster, as this node has read it last: runs for a node, callbacks for their receiver.
# TYPE belay_queue_depth gauge
belay_queue_depth{queue="runs"} 4
# HELP belay_queue_oldest_seconds How long what waits longest has been waiting.
# TYPE belay_queue_oldest_seconds gauge
belay_queue_oldest_seconds{queue="runs"} 1.5
`, "belay_callbacks_dead", "belay_queue_depth", "belay_queue_oldest_seconds")
}

// A panel of a metric that is not there is empty and nobody notices.
func TestTheDashboardShowsMetricsThatThereAre(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../.docker/grafana/dashboards/belay.json")
	if err != nil {
		t.Fatal(err)
	}
	reg := prometheus.NewPedanticRegistry()
	useAll(metrics.New(reg))
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var there []string
	for _, f := range families {
		there = append(there, f.GetName())
	}
	shown := regexp.MustCompile(`belay_[a-z_]+`).FindAllString(string(b), -1)
	for _, name := range shown {
		base := regexp.MustCompile(`_(bucket|count|sum)$`).ReplaceAllString(name, "")
		if !slices.Contains(there, name) && !slices.Contains(there, base) {
			t.Errorf("the dashboard shows %s", name)
		}
	}
	if len(shown) < 20 {
		t.Errorf("only %d metrics are shown", len(shown))
	}
}
