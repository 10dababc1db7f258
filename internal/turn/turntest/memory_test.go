package turntest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/turn/turntest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemoryIsAStore(t *testing.T) {
	t.Parallel()
	turntest.RunStore(t, openMemory)
}

func TestMemoryKeepsItsPromisesInAnyOrder(t *testing.T) {
	t.Parallel()
	turntest.CheckInterleavings(t, openMemory)
}

func openMemory(_ *testing.T, times turntest.Times) turntest.Harness {
	m := turntest.NewMemory(times)
	return turntest.Harness{Store: m, Hints: m, Other: "other", Check: m.CheckInvariants}
}

// begin is a turn of a new session for a node.
func begin(node string) agent.Begin {
	id := agent.NewID()
	return agent.Begin{
		Session: agent.Session{ID: id}, New: true, Turn: agent.Turn{ID: agent.NewID(), Session: id}, Input: "hi", Node: node,
	}
}

// taken is a store with a node and a leg that it runs.
func taken(t *testing.T) (m *turntest.Memory, node string, leg agent.Leg) {
	t.Helper()
	m = turntest.NewMemory(turntest.Times{})
	node, err := m.Join(t.Context(), "a")
	if err == nil {
		leg, err = m.Take(t.Context(), begin(node))
	}
	if err != nil {
		t.Fatal(err)
	}
	return m, node, leg
}

func TestMemoryReadsTheClockOfItsBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, silent, leg := taken(t)
		me, err := m.Join(t.Context(), "b")
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for dead := 0; dead == 0; {
			time.Sleep(2 * time.Second)
			if err := m.Renew(t.Context(), me); err != nil {
				t.Fatal(err)
			}
			if dead, err = m.DeclareDead(t.Context(), me); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took != 12*time.Second {
			t.Errorf("declared dead after %v, want the first renewal after 10 s", took)
		}
		if err := m.Renew(t.Context(), silent); !errors.Is(err, agent.ErrNodeDead) {
			t.Errorf("renew: %v", err)
		}
		swept, ok, err := m.Sweep(t.Context(), me)
		if swept.Lease != leg.Lease || !ok || err != nil {
			t.Errorf("swept %+v, %v, %v", swept, ok, err)
		}
	})
}

func TestMemoryFailsBeforeAndAfterTheEffect(t *testing.T) {
	m, node, leg := taken(t)
	settle := func() error {
		_, err := m.Settle(t.Context(), leg.Lease, agent.Closing{End: agent.Outcome{Kind: agent.Answered}, Seq: 2})
		return err
	}
	away := func(method string) error {
		if method == "Settle" {
			return agent.ErrUnavailable
		}
		return nil
	}
	m.Fail(away)
	if err := settle(); !errors.Is(err, agent.ErrUnavailable) || m.Slot(leg.Lease.Session).State != agent.SlotRunning {
		t.Errorf("before: %v, slot %+v", err, m.Slot(leg.Lease.Session))
	}
	m.Fail(nil)
	m.FailAfter(away)
	if err := settle(); !errors.Is(err, agent.ErrUnavailable) || m.Slot(leg.Lease.Session).State != agent.SlotIdle {
		t.Errorf("after: %v, slot %+v", err, m.Slot(leg.Lease.Session))
	}
	m.FailAfter(nil)
	if err := settle(); err != nil {
		t.Errorf("sent again: %v", err)
	}
	m.KillNode(node)
	if err := m.Renew(t.Context(), node); !errors.Is(err, agent.ErrNodeDead) {
		t.Errorf("renew: %v", err)
	}
	if err := m.CheckInvariants(); err != nil {
		t.Error(err)
	}
}

func TestMemoryHoldsACallAtItsGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _, leg := taken(t)
		gate := m.Block("Look")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := m.Look(ctx, leg.Lease); !errors.Is(err, agent.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("look: %v", err)
		}
		<-gate.Arrived()
		done := make(chan error)
		go func() {
			_, err := m.Look(t.Context(), leg.Lease)
			done <- err
		}()
		<-gate.Arrived()
		gate.Release()
		gate.Release()
		if err := <-done; err != nil {
			t.Errorf("look: %v", err)
		}
	})
}

func TestMemoryDropsHints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := turntest.NewMemory(turntest.Times{})
		ctx, cancel := context.WithCancel(t.Context())
		var got []agent.Hint
		done := make(chan error)
		go func() {
			done <- m.Listen(ctx, func(h agent.Hint) { got = append(got, h) }, func(bool) {})
		}()
		synctest.Wait()
		for _, drop := range []bool{true, false} {
			m.DropHints(drop)
			if err := m.Notify(ctx, agent.Hint{Kind: agent.HintQueue}); err != nil {
				t.Error(err)
			}
			synctest.Wait()
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) || len(got) != 1 {
			t.Errorf("%d hints, %v", len(got), err)
		}
	})
}

func TestInvariantsFindWhatIsBroken(t *testing.T) {
	m, node, leg := taken(t)
	rows, err := agent.Pack([]agent.Event{{
		Session: leg.Lease.Session, Seq: 3, Turn: leg.Lease.Turn, Body: agent.TurnEnded{Status: agent.StatusCompleted},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Append(t.Context(), []agent.Batch{{Lease: leg.Lease, Rows: rows}}); err != nil {
		t.Fatal(err)
	}
	if err := m.CheckInvariants(); err == nil {
		t.Errorf("a turn that runs on %s has ended, and nothing is broken", node)
	}
}
