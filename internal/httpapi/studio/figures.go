package studio

import (
	"net/http"
	"strings"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	wire "github.com/belayrun/belay/internal/httpapi/apigen/studio"
)

const (
	usageSpan   = 30 * 24 * time.Hour
	latencySpan = 24 * time.Hour
	maxSpan     = 400 * 24 * time.Hour
)

// span reads from and to.
func span(r *http.Request, most time.Duration) (from, to time.Time, err error) {
	if to, err = queryTime(r, "to", time.Now().UTC()); err != nil {
		return from, to, err
	}
	if from, err = queryTime(r, "from", to.Add(-most)); err != nil {
		return from, to, err
	}
	switch {
	case !from.Before(to):
		err = httpapi.Invalid("from", "must be before to")
	case to.Sub(from) > maxSpan:
		err = httpapi.Invalid("from", "must be 400 days before to at most")
	}
	return from, to, err
}

func queryTime(r *http.Request, name string, def time.Time) (time.Time, error) {
	s := r.URL.Query().Get(name)
	if s == "" {
		return def, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return t, httpapi.Invalid(name, "must be a time like 2026-01-31T00:00:00Z")
	}
	return t.UTC(), nil
}

func (d *door) usage(w http.ResponseWriter, r *http.Request) error {
	from, to, err := span(r, usageSpan)
	if err != nil {
		return err
	}
	q := agent.UsageQuery{
		Project: httpapi.Caller(r.Context()).Project, From: from, To: to,
		Agent: r.URL.Query().Get("agentId"), Model: r.URL.Query().Get("model"),
	}
	by, err := groups(r.URL.Query().Get("groupBy"), &q)
	if err != nil {
		return err
	}
	sum, rows, err := d.store.UsageBy(r.Context(), q)
	if err != nil {
		return err
	}
	out := wire.Usage{From: from, To: to, GroupBy: by, Total: figures(sum), Data: make([]wire.UsageRow, 0, len(rows))}
	for _, x := range rows {
		out.Data = append(out.Data, usageRow(x))
	}
	return httpapi.WriteJSON(w, http.StatusOK, out)
}

// groups reads what rows are grouped by; default by day.
func groups(s string, q *agent.UsageQuery) ([]string, error) {
	if s == "" {
		s = "day"
	}
	by := strings.Split(s, ",")
	for _, g := range by {
		switch g {
		case "day":
			q.ByDay = true
		case "agent":
			q.ByAgent = true
		case "model":
			q.ByModel = true
		case "status":
			q.ByStatus = true
		default:
			return nil, httpapi.Invalid("groupBy", "must be some of day, agent, model and status, with commas between")
		}
	}
	return by, nil
}

func figures(x agent.UsageRow) wire.UsageFigures {
	t := x.Tokens
	return wire.UsageFigures{
		Calls: x.Calls, CancelledCalls: x.Cancelled, ErrorCalls: x.Errors, EstimatedCalls: x.EstimatedCalls,
		InputTokens: t.Input, CachedInputTokens: t.CachedInput, OutputTokens: t.Output, ReasoningTokens: t.Reasoning,
		CostUsd: t.CostUSD, CancelledCostUsd: x.CancelledCostUSD, FirstTokenP50Ms: whole(x.FirstP50), FirstTokenP95Ms: whole(x.FirstP95),
	}
}

func whole(f *float64) *int64 {
	if f == nil {
		return nil
	}
	return new(int64(*f + 0.5))
}

func usageRow(x agent.UsageRow) wire.UsageRow {
	f := figures(x)
	return wire.UsageRow{
		Day: x.Day, AgentId: x.Agent, Model: x.Model, Status: string(x.Status),
		Calls: f.Calls, CancelledCalls: f.CancelledCalls, ErrorCalls: f.ErrorCalls, EstimatedCalls: f.EstimatedCalls,
		InputTokens: f.InputTokens, CachedInputTokens: f.CachedInputTokens, OutputTokens: f.OutputTokens, ReasoningTokens: f.ReasoningTokens,
		CostUsd: f.CostUsd, CancelledCostUsd: f.CancelledCostUsd, FirstTokenP50Ms: f.FirstTokenP50Ms, FirstTokenP95Ms: f.FirstTokenP95Ms,
	}
}

func (d *door) outcomes(w http.ResponseWriter, r *http.Request) error {
	from, to, err := span(r, usageSpan)
	if err != nil {
		return err
	}
	list, err := d.store.Outcomes(r.Context(), httpapi.Caller(r.Context()).Project, r.URL.Query().Get("agentId"), from, to)
	if err != nil {
		return err
	}
	out := wire.OutcomeList{From: from, To: to, Data: make([]wire.OutcomeRow, 0, len(list))}
	for _, o := range list {
		out.Data = append(out.Data, wire.OutcomeRow{Day: o.Day, Outcome: o.Outcome, Turns: o.Turns})
	}
	return httpapi.WriteJSON(w, http.StatusOK, out)
}

// maxSlots is how many turns the operations list.
const maxSlots = 200

func (d *door) operations(w http.ResponseWriter, r *http.Request) error {
	p := httpapi.Caller(r.Context())
	o, err := d.store.Operations(r.Context(), p.Project, maxSlots)
	if err != nil {
		return err
	}
	known, err := d.named(r.Context(), slotNames(o))
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, operationsOut(p, o, known))
}

func slotNames(o agent.Operations) []string {
	var ids []string
	for _, s := range o.Live {
		ids = append(ids, s.By, s.Of.Owner)
	}
	return ids
}

func operationsOut(p agent.Principal, o agent.Operations, known names) wire.Operations {
	out := wire.Operations{
		At: o.At.UTC(), SlotsLeftOut: o.Left, Nodes: make([]wire.Node, 0, len(o.Nodes)), Slots: make([]wire.Slot, 0, len(o.Live)),
		Counts: wire.SlotCounts{
			Running: o.Total.Running, Stopping: o.Total.Stopping, Queued: o.Total.Queued, Waiting: o.Total.Waiting, Stuck: o.Total.Stuck,
		},
	}
	for _, n := range o.Nodes {
		state := "alive"
		switch {
		case n.Dead:
			state = "dead"
		case n.Late:
			state = "late"
		}
		out.Nodes = append(out.Nodes, wire.Node{Id: n.ID, Name: n.Label, State: state, HeartbeatAgeMs: max(0, n.Silence.Milliseconds()), Slots: n.Slots})
	}
	for _, s := range o.Live {
		x := wire.Slot{
			SessionId: s.Of.ID, RunId: s.Turn, AgentId: s.Of.Agent, Owner: known.actor(s.Of.Owner), StartedBy: known.actor(s.By),
			Door: s.Door, State: wire.SessionState(s.State), NodeId: ptr(s.NodeID), Node: ptr(s.Node), Background: s.Background,
			AgeMs: s.Age.Milliseconds(), Stuck: ptr(s.Stuck), MayAct: p.MayAct(s.Of) == nil,
		}
		if s.StopAge != nil {
			x.StopAgeMs = new(s.StopAge.Milliseconds())
		}
		out.Slots = append(out.Slots, x)
	}
	return out
}

// latencyBounds are those of the buckets of stop latencies, in milliseconds.
func latencyBounds() []float64 {
	return []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 30_000}
}

func (d *door) stopLatency(w http.ResponseWriter, r *http.Request) error {
	from, to, err := span(r, latencySpan)
	if err != nil {
		return err
	}
	bounds := latencyBounds()
	list, err := d.store.StopTimes(r.Context(), httpapi.Caller(r.Context()).Project, from, to, bounds)
	if err != nil {
		return err
	}
	out := wire.StopLatency{From: from, To: to}
	for _, path := range []string{"local", "push", "poll", ""} {
		s := wire.LatencySeries{Path: stopPath(path)}
		times := agent.StopTimes{Buckets: make([]int64, len(bounds)+1)}
		for _, t := range list {
			if t.Path == path {
				times = t
				s.Count, s.P50Ms, s.P95Ms, s.P99Ms, s.MaxMs = t.Count, &t.P50, &t.P95, &t.P99, &t.Max
			}
		}
		for i, n := range times.Buckets {
			b := struct {
				LeMs  *float64 `json:"leMs"`
				Count int64    `json:"count"`
			}{Count: n}
			if i < len(bounds) {
				b.LeMs = &bounds[i]
			}
			s.Buckets = append(s.Buckets, b)
		}
		out.Series = append(out.Series, s)
	}
	return httpapi.WriteJSON(w, http.StatusOK, out)
}
