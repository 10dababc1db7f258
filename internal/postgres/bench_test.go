package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/postgres"
	"github.com/belayrun/belay/internal/postgres/pgtest"
)

func benchStore(b *testing.B) (*postgres.Store, string) {
	b.Helper()
	s, err := postgres.Open(b.Context(), postgres.Config{URL: pgtest.DB(b)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.Close)
	node, err := s.Join(b.Context(), "bench")
	if err != nil {
		b.Fatal(err)
	}
	return s, node
}

func must[T any](b *testing.B) func(T, error) T {
	return func(v T, err error) T {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
		return v
	}
}

// BenchmarkTurn is a whole turn on an idle session: take, then settle.
func BenchmarkTurn(b *testing.B) {
	s, node := benchStore(b)
	first := newBegin(node)
	var take, settle time.Duration
	n := 0
	for b.Loop() {
		begin := first
		begin.Turn.ID = agent.NewID()
		begin.New = n == 0
		t0 := time.Now()
		leg := must[agent.Leg](b)(s.Take(b.Context(), begin))
		t1 := time.Now()
		must[agent.Closed](b)(s.Settle(b.Context(), leg.Lease, answer(leg, "a short answer")))
		take, settle = take+t1.Sub(t0), settle+time.Since(t1)
		n++
	}
	b.ReportMetric(float64(take.Microseconds())/float64(n), "take-µs")
	b.ReportMetric(float64(settle.Microseconds())/float64(n), "settle-µs")
}

// BenchmarkStop is a stop of a turn that runs elsewhere.
func BenchmarkStop(b *testing.B) {
	s, node := benchStore(b)
	leg := must[agent.Leg](b)(s.Take(b.Context(), newBegin(node)))
	for b.Loop() {
		must[agent.StopResult](b)(s.Stop(b.Context(), leg.Lease.Session, leg.Lease.Turn, agent.Stop{By: "x"}, true))
	}
}

// BenchmarkAppend is one flush of a node: 20 rows for each of some sessions.
func BenchmarkAppend(b *testing.B) {
	for _, rows := range []int{100, 2000} {
		b.Run(fmt.Sprint(rows), func(b *testing.B) {
			s, node := benchStore(b)
			sessions := rows / 20
			batches := make([]agent.Batch, sessions)
			seq := make([]int64, sessions)
			for i := range batches {
				leg := must[agent.Leg](b)(s.Take(b.Context(), newBegin(node)))
				batches[i].Lease, seq[i] = leg.Lease, leg.Seq+2
			}
			for b.Loop() {
				for i := range batches {
					batches[i].Rows = deltas(batches[i].Lease.Turn, seq[i], 20)
					seq[i] += 20
				}
				for _, ok := range must[[]bool](b)(s.Append(b.Context(), batches)) {
					if !ok {
						b.Fatal("not stored")
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "ms/flush")
		})
	}
}

// BenchmarkNews is a poll of followers of many sessions in which nothing happens.
func BenchmarkNews(b *testing.B) {
	s, node := benchStore(b)
	cursors := map[string]int64{}
	for range 500 {
		leg := must[agent.Leg](b)(s.Take(b.Context(), newBegin(node)))
		cursors[leg.Lease.Session] = leg.Seq + 2
	}
	for b.Loop() {
		must[[]agent.Event](b)(s.News(b.Context(), cursors))
	}
}
