package bench_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/bench"
)

func dist(times ...time.Duration) bench.Dist {
	for i := range times {
		times[i] *= time.Millisecond
	}
	return bench.NewDist(times)
}

func report() *bench.Report {
	limit := bench.Limit{P50: 2 * time.Millisecond, P99: 20 * time.Millisecond}
	return &bench.Report{
		Bench: "stop", At: time.Unix(0, 0).UTC(),
		Machine:  bench.Machine{OS: "linux", Arch: "amd64", Cores: 2, CPU: "Test"},
		Versions: map[string]string{"go": "go1.26", "postgres": "16"},
		Rows: []bench.Row{
			bench.Times("quick", dist(1, 1, 3), limit),
			bench.Times("slow", dist(1, 2, 30), limit),
			bench.Times("unlimited", dist(5), bench.Limit{}),
			bench.Times("unseen", nil, limit),
			bench.None("missed", 0),
			bench.Below("heap", 61.25, 60, "KiB"),
			bench.AtLeast("delivered", 40000, 38000, "/s"),
		},
		Ratios: []bench.Row{bench.Value("a / b", 1.5, "x")},
		Misses: []string{"one thing"},
		Notes:  []string{"so it was"},
	}
}

const table = `
belay bench stop: 2 cores, linux/amd64, Test; Go go1.26, Postgres 16
Load generator, model, nodes and Postgres share this machine unless a note says otherwise.

           n  p50 ms  p90 ms  p99 ms  max ms      value  target
quick      3    1.00    3.00    3.00    3.00             p50 < 2ms, p99 < 20ms  ok
slow       3    2.00   30.00   30.00   30.00             p50 < 2ms, p99 < 20ms  over
unlimited  1    5.00    5.00    5.00    5.00
unseen                                                   p50 < 2ms, p99 < 20ms  over
missed                                               0   0                      ok
heap                                         61.25 KiB   < 60 KiB               over
delivered                                     40000 /s   >= 38000 /s            ok
a / b                                           1.50 x

missed: one thing
note: so it was
`

func TestTableIsAligned(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := report().Text(&b); err != nil {
		t.Fatal(err)
	}
	if got := squeeze(b.String()); got != squeeze(table) {
		t.Errorf("got:\n%s\nwant:\n%s", b.String(), table)
	}
	var at int // targets stand under their head
	for line := range strings.Lines(b.String()) {
		if i := strings.Index(line, "target"); i > 0 && at == 0 {
			at = i
		}
		if i := strings.Index(line, "p50 < "); i > 0 && i != at {
			t.Errorf("a target at %d, its head at %d: %s", i, at, line)
		}
	}
}

func squeeze(s string) string {
	var out []string
	for line := range strings.Lines(s) {
		out = append(out, strings.Join(strings.Fields(line), " "))
	}
	return strings.TrimSpace(strings.Join(out, "\n"))
}

func TestJSONIsOneObjectWithEveryFigure(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := report().JSON(&b); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Bench   string
		Machine bench.Machine
		Figures []map[string]any
		Ratios  []map[string]any
		Misses  []string
		Notes   []string
	}
	d := json.NewDecoder(&b)
	if err := d.Decode(&got); err != nil {
		t.Fatal(err)
	}
	if d.More() {
		t.Error("more than one object")
	}
	if got.Bench != "stop" || got.Machine.Cores != 2 || len(got.Figures) != 7 || len(got.Ratios) != 1 || len(got.Misses) != 1 || len(got.Notes) != 1 {
		t.Errorf("got %+v", got)
	}
	quick := got.Figures[0]
	if quick["p50_ms"] != 1.0 || quick["p99_ms"] != 3.0 || quick["n"] != 3.0 || quick["verdict"] != "ok" || quick["target"] != "p50 < 2ms, p99 < 20ms" {
		t.Errorf("got %v", quick)
	}
	if _, ok := got.Figures[4]["value"]; !ok {
		t.Error("a value of 0 is left out")
	}
	if _, ok := got.Figures[3]["p50_ms"]; ok {
		t.Error("times that were not measured are given")
	}
}

func TestAddedIsTakenQuantileByQuantile(t *testing.T) {
	t.Parallel()
	r := bench.Added("added", dist(5, 6, 30), dist(1, 1, 2), bench.Limit{P50: 6 * time.Millisecond, P99: 28 * time.Millisecond})
	if *r.P50 != 5 || *r.P99 != 28 || r.Verdict != bench.Over {
		t.Errorf("got p50 %v, p99 %v, %s", *r.P50, *r.P99, r.Verdict)
	}
}
