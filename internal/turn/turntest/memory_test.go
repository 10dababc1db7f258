package turntest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/turn/turntest"
)

func TestMemoryEndsATurnThatWasStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		m := turntest.NewMemory(turntest.Times{})
		node, err := m.Join(ctx, "a")
		if err != nil {
			t.Fatal(err)
		}
		leg, err := m.Take(ctx, agent.Begin{
			Session: agent.Session{ID: agent.NewID()}, New: true, Turn: agent.Turn{ID: agent.NewID()}, Input: "hi", Node: node,
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if _, err := m.Stop(ctx, leg.Lease.Session, leg.Lease.Turn, agent.Stop{By: "p"}, true); err != nil {
			t.Fatal(err)
		}
		closed, err := m.Settle(ctx, leg.Lease, agent.Closing{
			End: agent.Outcome{Kind: agent.Answered}, Seq: 2, Draft: &agent.Draft{Index: 1, Text: "so far"},
		})
		if err != nil || closed.Outcome.Kind != agent.Stopped {
			t.Errorf("closed %+v, %v", closed, err)
		}
		if err := m.CheckInvariants(); err != nil {
			t.Error(err)
		}
	})
}

func TestMemoryIsAStore(t *testing.T) {
	t.Parallel()
	turntest.RunStore(t, openMemory)
}

func openMemory(_ *testing.T, times turntest.Times) turntest.Harness {
	m := turntest.NewMemory(times)
	return turntest.Harness{Store: m, Hints: m, Check: m.CheckInvariants}
}

func TestMemoryKeepsItsPromisesInAnyOrder(t *testing.T) {
	t.Parallel()
	turntest.CheckInterleavings(t, openMemory)
}
