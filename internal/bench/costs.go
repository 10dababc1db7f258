package bench

import (
	"context"
	"fmt"
	"time"
)

// Names of what is read from /metrics.
const (
	heapInUse  = "go_memstats_heap_inuse_bytes"
	stackInUse = "go_memstats_stack_inuse_bytes"
	nextGC     = "go_memstats_next_gc_bytes"
	resident   = "process_resident_memory_bytes"
	nodeCPU    = "process_cpu_seconds_total"
	flushes    = "belay_flush_seconds_count"
	flushTime  = "belay_flush_seconds_sum"
	flushRows  = "belay_flush_rows_sum"
	heardPush  = `belay_stop_seconds_count{path="push",stage="told"}`
	heardPoll  = `belay_stop_seconds_count{path="poll",stage="told"}`
)

// looked is what everything had used and done at a moment.
type looked struct {
	at       time.Time
	nodes    [2]map[string]float64
	self     time.Duration // this process
	model    time.Duration // of it, the model's writing
	database time.Duration
	commits  Commits
	sent     int64 // chunks by the model
	got      int64 // chunks by the stage's followers
}

func (s *stage) look(ctx context.Context) (l looked, err error) {
	for i, url := range s.pair.URLs {
		if l.nodes[i], err = s.client.scrape(ctx, url); err != nil {
			return l, err
		}
	}
	if s.env.Commits != nil {
		if l.commits, err = s.env.Commits(ctx); err != nil {
			return l, fmt.Errorf("count transactions: %w", err)
		}
	}
	if s.env.DatabaseCPU != nil {
		l.database = s.env.DatabaseCPU()
	}
	l.at, l.self, l.model, l.sent = time.Now(), selfCPU(), time.Duration(s.env.Model.pacer.cpu.Load()), s.env.Model.Sent()
	for _, t := range s.turns {
		if t != nil {
			l.got += t.f.Deltas()
		}
	}
	return l, nil
}

// moved is how much a node's counter grew.
func moved(from, to looked, node int, name string) float64 {
	return to.nodes[node][name] - from.nodes[node][name]
}

// live is the heap that a node's last garbage collection left: it sets the next
// one to live + (live + stacks), as GOGC is 100.
func live(m map[string]float64) float64 { return (m[nextGC] - m[stackInUse]) / 2 }

// streamed reports the rates of the window.
func (s *stage) streamed(from, to looked) {
	secs := to.at.Sub(from.at).Seconds()
	asked := float64(s.n * s.o.Rate)
	sent, got := float64(to.sent-from.sent)/secs, float64(to.got-from.got)/secs
	s.report.add(
		Value(s.name+"events sent by the model", sent, "/s"),
		AtLeast(s.name+"events delivered", got, .95*asked, "/s"),
	)
	if sent < .95*asked {
		s.report.note("%sthe model could not send the %.0f events/s that were asked for: the machine is full", s.name, asked)
	}
}

// ages reports how old events were when followers that read at once had them.
func (s *stage) ages() {
	var all []time.Duration
	for _, t := range s.turns {
		select {
		case <-t.f.Done():
			all = append(all, t.f.ages...)
		default:
		}
	}
	s.report.add(Times(s.name+"model to follower, an event", NewDist(all), Limit{}))
}

// costs reports memory and CPU of the window.
func (s *stage) costs(from, to looked) {
	running := float64(s.n)
	if s.o.Spread {
		running /= 2
	}
	kib := func(samples []float64, idle float64) float64 { return (median(samples) - idle) / running / 1024 }
	s.report.add(
		Below(s.name+"heap for each turn", kib(s.heap, s.idle[heapInUse]), heapLimit, "KiB"),
		Value(s.name+"live heap for each turn", kib(s.live, live(s.idle)), "KiB"),
		Value(s.name+"goroutine stacks for each turn", kib(s.stacks, s.idle[stackInUse]), "KiB"),
		Value(s.name+"resident for each turn", kib(s.rss, s.idle[resident]), "KiB"),
	)
	secs := to.at.Sub(from.at).Seconds()
	model := (to.model - from.model).Seconds()
	s.report.add(
		Value(s.name+"CPU, first node", moved(from, to, 0, nodeCPU)/secs, "cores"),
		Value(s.name+"CPU, second node", moved(from, to, 1, nodeCPU)/secs, "cores"),
		Value(s.name+"CPU, model", model/secs, "cores"),
		Value(s.name+"CPU, client", ((to.self-from.self).Seconds()-model)/secs, "cores"),
	)
	if s.env.DatabaseCPU != nil {
		s.report.add(Value(s.name+"CPU, Postgres", (to.database-from.database).Seconds()/secs, "cores"))
	}
	if n := moved(from, to, 0, flushes); n > 0 {
		s.report.add(
			Value(s.name+"journal writes, first node", n/secs, "/s"),
			Value(s.name+"journal write, mean", moved(from, to, 0, flushTime)/n*1000, "ms"),
			Value(s.name+"rows in a journal write, mean", moved(from, to, 0, flushRows)/n, ""),
		)
	}
	if got := to.got - from.got; got > 0 {
		both := moved(from, to, 0, nodeCPU) + moved(from, to, 1, nodeCPU)
		s.report.add(Value(s.name+"CPU of nodes for an event", both/float64(got)*1e6, "µs"))
	}
}

// heard reports how the nodes heard of the stage's stops.
func (s *stage) heard(from, to looked) {
	s.report.add(
		Value(s.name+"of these, heard of by push", moved(from, to, 0, heardPush)+moved(from, to, 1, heardPush), ""),
		Value(s.name+"of these, heard of by the poll", moved(from, to, 0, heardPoll)+moved(from, to, 1, heardPoll), ""),
	)
}

// transactions reports what the whole stage cost the database.
func (s *stage) transactions(from, to looked) {
	if s.env.Commits == nil {
		return
	}
	flushed := moved(from, to, 0, flushes) + moved(from, to, 1, flushes)
	writes, all := float64(to.commits.Writes-from.commits.Writes), float64(to.commits.All-from.commits.All)
	stops := 2 * float64(min(mass, s.n)) // the row, and the hint by NOTIFY
	s.report.add(
		Below(s.name+"writing transactions for a turn, journal writes and stops apart", (writes-flushed-stops)/float64(s.n), writeLimit, ""),
		Value(s.name+"all transactions for a turn, polls and reads among them", all/float64(s.n), ""),
	)
}
