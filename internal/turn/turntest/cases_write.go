package turntest

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/belayrun/belay/internal/agent"
)

func writeCases() []storeCase {
	return []storeCase{
		{name: "a batch is stored for the leases that hold and for no others", run: writeMixed},
		{name: "nothing is written under a lease of another turn or fence", run: writeForeign},
		{name: "a frozen node's writes are refused once others closed its turn", alone: true, run: writeFrozen},
		{name: "text that races a sweep is before the end or refused", alone: true, run: writeAgainstSweep},
		{name: "the start of a tool that races a sweep has a result or is refused", alone: true, run: recordAgainstSweep},
		{name: "text that races its own settle is stored once and before the end", run: writeAgainstSettle},
		{name: "rows that are sent twice are stored once", run: writeTwice},
		{name: "a tool does not start after a stop", run: recordAfterStop},
		{name: "a stop and the start of a tool at once: none starts after the stop's answer", run: recordAgainstStop},
		{name: "a record that is sent again stores and opens once", run: recordTwice},
		{name: "the first look sees the stop, and a lost lease", run: lookSees},
	}
}

func writeMixed(f *fixture) {
	node := f.node("a")
	good, bad, alsoGood := f.running(node), f.running(node), f.running(node)
	bad.answer("over")
	var batches []agent.Batch
	for _, l := range []*leg{good, bad, alsoGood} {
		batches = append(batches, agent.Batch{Lease: l.Lease, Rows: l.say("one ", "two")})
	}
	stored, err := again(func() ([]bool, error) { return f.store.Append(f.ctx, batches) })
	f.check(err)
	f.want(fmt.Sprint(stored) == "[true false true]", "stored %v", stored)
	for _, l := range []*leg{good, alsoGood} {
		f.want(len(f.events(l.Session.ID)) == 4, "journal %v", f.events(l.Session.ID))
	}
	stored, err = again(func() ([]bool, error) { return f.store.Append(f.ctx, nil) })
	f.want(err == nil && len(stored) == 0, "an empty append: %v, %v", stored, err)
}

// Rules fence and own_id; field report K 69: a lease is (turn, fence), whoever
// the process is that holds it.
func writeForeign(f *fixture) {
	node := f.node("a")
	first := f.running(node)
	first.answer("an earlier fence")
	l := f.take(f.begin(first.Session, node))
	for _, change := range []func(*agent.Lease){
		func(x *agent.Lease) { x.Fence++ },
		func(x *agent.Lease) { x.Fence-- },
		func(x *agent.Lease) { x.Turn = agent.NewID() },
		func(x *agent.Lease) { x.Session = agent.NewID() },
	} {
		other := *l
		change(&other.Lease)
		rows := other.say("not mine")
		ok, err := other.tryAppend(rows)
		f.want(err == nil && !ok, "append under %v: %v, %v", other.Lease, ok, err)
		f.lost("Record", other.tryRecord(rows))
		_, err = other.look()
		f.lost("Look", err)
		_, err = other.trySettle(other.answered("not mine", rows...))
		f.lost("Settle", err)
	}
	l.answer("mine")
}

// Rules fence and number_gap; field reports J 66, K 69 and K 70.
func writeFrozen(f *fixture) {
	a, b := f.node("a"), f.node("b")
	l := f.running(a)
	l.append(l.say("before"))
	f.kill(a)
	swept := f.sweep(b)
	f.want(swept.Lease.Turn == l.Lease.Turn && swept.Lease.Fence == l.Lease.Fence && swept.Outcome == agent.Lost, "swept %+v", swept)
	f.want(f.find(l.Session.ID).Lease.Fence > l.Lease.Fence, "who closed %v did not raise the fence", l.Lease)
	l.gone()
	next := f.take(f.begin(l.Session, b))
	l.gone()
	next.answer("the next turn is not disturbed")
}

// Rule same_stmt: the check and the write are one statement, or a write slips
// through a snapshot.
func writeAgainstSweep(f *fixture) {
	b := f.node("b")
	for range 15 {
		a := f.node("a")
		l := f.running(a)
		var stored atomic.Int64
		f.race(
			func() error {
				for ok := true; ok; {
					rows := l.say("x", "y")
					var err error
					if ok, err = l.tryAppend(rows); err != nil {
						return err
					}
					if ok {
						stored.Store(rows[0].Last)
					}
				}
				return nil
			},
			func() error { return f.killAndSweep(a, b) },
		)
		_, end := f.end(l)
		f.want(stored.Load() < end, "text %d was stored, the end is %d", stored.Load(), end)
		events := f.events(l.Session.ID)
		f.want(events[len(events)-1].Seq == end, "event %d comes after the end, %d", events[len(events)-1].Seq, end)
		f.partial(l, stored.Load())
	}
}

// killAndSweep may be called from any goroutine.
func (f *fixture) killAndSweep(dead, me string) error {
	if err := again0(func() error { return f.store.Leave(f.ctx, dead) }); err != nil {
		return err
	}
	for {
		if _, ok, err := f.trySweep(me); ok || err != nil {
			return err
		}
	}
}

// Rule same_stmt for a tool: who closes the leg must know of every start that
// was answered, or nobody gives it a result (field report E 33).
func recordAgainstSweep(f *fixture) {
	b := f.node("b")
	for range 15 {
		a := f.node("a")
		l := f.running(a)
		started := 0
		var refused error
		f.race(
			func() error {
				for refused == nil {
					call := agent.ToolStarted{CallID: fmt.Sprint("c", started+1), Name: "look", Arguments: []byte(`{}`)}
					if refused = l.tryRecord(l.rows(call)); refused == nil {
						started++
					}
				}
				return nil
			},
			func() error { return f.killAndSweep(a, b) },
		)
		f.lost("Record", refused)
		starts, results := 0, 0
		for _, k := range f.kinds(l.Session.ID, 0) {
			switch k {
			case agent.KindToolStarted:
				starts++
			case agent.KindToolFinished:
				results++
			}
		}
		f.want(starts == started && results == started, "%d tools were started, %d starts and %d results are stored", started, starts, results)
	}
}

// partial asserts that the text stored up to a number is the answer, exactly.
func (f *fixture) partial(l *leg, upTo int64) {
	f.t.Helper()
	want, got := "", ""
	for _, e := range f.events(l.Lease.Session) {
		if e.Turn != l.Lease.Turn {
			continue
		}
		switch b := e.Body.(type) {
		case agent.TextDelta:
			want += b.Text
			f.want(e.Seq <= upTo, "text %d is there, only %d was answered as stored", e.Seq, upTo)
		case agent.Message:
			if b.Role == agent.RoleAssistant {
				got += b.Text
			}
		}
	}
	f.want(got == want, "the answer is %q, the text stored %q", got, want)
}

// Rule flush_first: a flush that is still on its way is part of the settle.
func writeAgainstSettle(f *fixture) {
	node := f.node("a")
	for range 20 {
		l := f.running(node)
		rows := l.say("all ", "of ", "it")
		f.race(
			func() error { _, err := l.tryAppend(rows); return err },
			func() error { _, err := l.trySettle(l.answered("all of it", rows...)); return err },
		)
		f.partial(l, l.seq)
		kinds := f.kinds(l.Session.ID, 2)
		f.want(len(kinds) == 5, "events %v", kinds)
	}
}

func writeTwice(f *fixture) {
	l := f.running(f.node("a"))
	rows := l.say("one ", "two ")
	l.append(rows)
	l.append(rows)
	rows = append(rows, l.say("three")...)
	l.settle(l.answered("one two three", rows...))
	f.partial(l, l.seq)
}

// Rule tool_row: the row of the start is written under the same lock as the stop.
func recordAfterStop(f *fixture) {
	l := f.running(f.node("a"))
	f.stop(l, "user:bob", true)
	before := len(f.events(l.Session.ID))
	action := agent.Action{ID: agent.NewID(), CallID: "c1", Type: agent.ActionApproval, Name: "delete", Arguments: []byte(`{}`)}
	err := l.tryRecord(l.rows(agent.ToolStarted{CallID: "c1", Name: "look", Arguments: []byte(`{}`)}), action)
	stop, ok := errors.AsType[*agent.Stop](err)
	f.want(ok && stop.By == "user:bob" && !stop.At.IsZero(), "%v, want the stop of user:bob", err)
	f.want(len(f.events(l.Session.ID)) == before && len(f.actions(l.Lease.Turn)) == 0, "the refused record left something")
	l.append(l.say("text may still come"))
}

func recordAgainstStop(f *fixture) {
	node := f.node("a")
	for range 30 {
		l := f.running(node)
		rows := l.rows(agent.ToolStarted{CallID: "c1", Name: "look", Arguments: []byte(`{}`)})
		var recorded error
		f.race(
			func() error { recorded = l.tryRecord(rows); return nil },
			func() error { _, err := f.tryStop(l, "user:bob", true); return err },
		)
		_, isStop := errors.AsType[*agent.Stop](recorded)
		f.want(recorded == nil || isStop, "record: %v", recorded)
		_, isStop = errors.AsType[*agent.Stop](l.tryRecord(rows))
		f.want(isStop, "a record after the stop's answer is not refused")
	}
}

func recordTwice(f *fixture) {
	l := f.running(f.node("a"))
	a := agent.Action{
		ID: agent.NewID(), Session: l.Session.ID, Turn: l.Lease.Turn, CallID: "c1",
		Type: agent.ActionQuestion, Name: "which", Arguments: []byte(`{"q":"?"}`), State: agent.ActionOpen,
	}
	rows := l.rows(agent.ActionRequested{ActionID: a.ID, CallID: "c1", Type: a.Type, Name: a.Name, Arguments: a.Arguments})
	f.check(l.tryRecord(rows, a))
	f.check(l.tryRecord(rows, a))
	got := f.actions(l.Lease.Turn)
	f.want(len(got) == 1 && got[0].ID == a.ID && got[0].Type == a.Type && got[0].State == agent.ActionOpen, "actions %+v", got)
	f.want(string(got[0].Arguments) == `{"q":"?"}` && got[0].Session == l.Session.ID, "action %+v", got[0])
	f.want(len(f.events(l.Session.ID)) == 3, "journal %v", f.kinds(l.Session.ID, 0))
	l.decide(a.ID, agent.ActionApproved)
	f.check(l.tryRecord(rows, a))
	got = f.actions(l.Lease.Turn)
	f.want(len(got) == 1 && got[0].State == agent.ActionApproved, "a record that was late opened a decided action: %+v", got)
}

// Rule first_look.
func lookSees(f *fixture) {
	l := f.running(f.node("a"))
	stop, err := l.look()
	f.want(err == nil && stop == nil, "nothing is asked for: %v, %v", stop, err)
	f.stop(l, "user:bob", true)
	stop, err = l.look()
	f.check(err)
	f.want(stop != nil && stop.By == "user:bob" && stop.Door == agent.DoorStudio && stop.Node == "door-node" && !stop.At.IsZero(),
		"the stop reads %+v", stop)
	l.answer("cut")
	_, err = l.look()
	f.lost("Look", err)
}
