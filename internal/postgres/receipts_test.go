package postgres_test

import (
	"sync"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/postgres"
)

func receiptOf(id, turn string) agent.Receipt {
	return agent.Receipt{Project: project, Agent: "helper", Sender: "token:ann", ID: id, Turn: turn, Text: "hello"}
}

// TestAMessageIsOneTurns: of many who send one message at once, one has it, and
// the others learn whose turn it is. 74.
func TestAMessageIsOneTurns(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	var wg sync.WaitGroup
	kept := make([]string, 20)
	for i := range kept {
		wg.Go(func() {
			r, err := b.Receive(b.ctx, receiptOf("m1", agent.NewID()))
			if err != nil {
				t.Error(err)
			}
			kept[i] = r.Turn
		})
	}
	wg.Wait()
	for _, turn := range kept {
		if turn != kept[0] || turn == "" {
			t.Fatalf("turns %q", kept)
		}
	}
	for name, r := range map[string]agent.Receipt{
		"another sender":  {Project: project, Agent: "helper", Sender: "token:bob", ID: "m1", Turn: "t"},
		"another agent":   {Project: project, Agent: "other", Sender: "token:ann", ID: "m1", Turn: "t"},
		"another message": {Project: project, Agent: "helper", Sender: "token:ann", ID: "m2", Turn: "t"},
	} {
		if got, err := b.Receive(b.ctx, r); err != nil || got.Turn != "t" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestARefusedMessageMayBeSentAgain(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	first, err := b.Receive(b.ctx, receiptOf("m1", agent.NewID()))
	b.check(err)
	mine := receiptOf("m1", "another")
	b.check(b.DropReceipt(b.ctx, mine)) // is not the one that is kept
	if again, err := b.Receive(b.ctx, mine); err != nil || again.Turn != first.Turn {
		t.Errorf("somebody else's receipt was dropped: %+v, %v", again, err)
	}
	b.check(b.DropReceipt(b.ctx, first))
	if again, err := b.Receive(b.ctx, mine); err != nil || again.Turn != "another" {
		t.Errorf("after it was dropped: %+v, %v", again, err)
	}
}

// TestAReceiptWithoutATurnIsFreeAfterAMinute: whoever kept it is gone. One whose
// turn has begun stays for ever.
func TestAReceiptWithoutATurnIsFreeAfterAMinute(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	leg := b.take(newBegin(b.node()))
	_, err := b.Receive(b.ctx, receiptOf("begun", leg.Turn.ID))
	b.check(err)
	_, err = b.Receive(b.ctx, receiptOf("lost", agent.NewID()))
	b.check(err)
	b.exec(`UPDATE receipts SET at = at - interval '2 minutes'`)
	if r, err := b.Receive(b.ctx, receiptOf("lost", "new")); err != nil || r.Turn != "new" {
		t.Errorf("a lost one: %+v, %v", r, err)
	}
	if r, err := b.Receive(b.ctx, receiptOf("begun", "new")); err != nil || r.Turn != leg.Turn.ID {
		t.Errorf("one that has begun: %+v, %v", r, err)
	}
}

func TestReceiptsGoWithTheirSession(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	leg := b.take(newBegin(b.node()))
	first, err := b.Receive(b.ctx, receiptOf("m1", leg.Turn.ID))
	b.check(err)
	first.Session = leg.Session.ID
	b.check(b.BindReceipt(b.ctx, first))
	second := receiptOf("m2", leg.Turn.ID)
	second.Session, second.Action = leg.Session.ID, "ac1"
	_, err = b.Receive(b.ctx, second)
	b.check(err)
	list, err := b.Receipts(b.ctx, leg.Turn.ID)
	b.check(err)
	if len(list) != 2 || list[0].ID != "m1" || list[1].Action != "ac1" || list[1].Text != "hello" {
		t.Errorf("receipts %+v", list)
	}
	_, err = b.Settle(b.ctx, leg.Lease, answer(leg, "yes"))
	b.check(err)
	b.check(b.DeleteSession(b.ctx, leg.Session.ID))
	if n := b.count(`SELECT count(*) FROM receipts`); n != 0 {
		t.Errorf("%d receipts are left", n)
	}
}

// TestTurnsAreListedByTheirStates: word and time are those that the journal and
// the turn's row say, whatever has become of the turn, the latest first, and no
// page leaves one out.
func TestTurnsAreListedByTheirStates(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	node := b.node()
	want := map[string]string{}
	add := func(word string, begin agent.Begin, then func(agent.Leg)) {
		leg := b.take(begin)
		if then != nil {
			then(leg)
		}
		want[leg.Turn.ID] = word
	}
	settled := func(o agent.Outcome) func(agent.Leg) {
		return func(leg agent.Leg) {
			c := answer(leg, "so far")
			c.End = o
			_, err := b.Settle(b.ctx, leg.Lease, c)
			b.check(err)
		}
	}
	stop := func(leg agent.Leg) {
		_, err := b.Stop(b.ctx, leg.Session.ID, leg.Turn.ID, agent.Stop{By: "token:ann", Door: agent.DoorA2A}, true)
		b.check(err)
	}
	pause := func(leg agent.Leg) {
		b.check(b.Record(b.ctx, leg.Lease, nil, []agent.Action{{ID: leg.Turn.ID[:20] + "ac00", Type: agent.ActionApproval, CallID: "c", Name: "f"}}))
		c := answer(leg, "")
		c.End, c.Draft = agent.Outcome{Kind: agent.Waiting}, nil
		_, err := b.Settle(b.ctx, leg.Lease, c)
		b.check(err)
	}
	add("queued", newBegin(""), nil)
	add("running", newBegin(node), nil)
	add("completed", newBegin(node), settled(agent.Outcome{Kind: agent.Answered}))
	add("limit", newBegin(node), settled(agent.Outcome{Kind: agent.Limited, Detail: "max_tool_calls"}))
	add("failed", newBegin(node), settled(agent.Outcome{Kind: agent.Failed, Failure: &agent.Failure{Code: "x", Message: "y"}}))
	add("cancelled", newBegin(node), stop) // stopping
	add("cancelled", newBegin(node), func(leg agent.Leg) { stop(leg); settled(agent.Outcome{Kind: agent.Answered})(leg) })
	add("waiting", newBegin(node), pause)
	add("running", newBegin(node), func(leg agent.Leg) { // queued to go on
		pause(leg)
		_, _, err := b.Decide(b.ctx, agent.Decision{Action: leg.Turn.ID[:20] + "ac00", State: agent.ActionApproved, By: "token:ann"})
		b.check(err)
	})
	foreign := newBegin(node)
	foreign.Session.Owner = "token:bob"
	b.take(foreign)

	f := agent.TurnFilter{Project: project, Agent: "helper", Owner: "token:ann", Page: agent.Page{Limit: 2}}
	got := map[string]agent.TurnState{}
	last := time.Now().Add(time.Hour)
	for more := true; more; more = f.Page.Cursor != "" {
		list, next, total, err := b.TurnStates(b.ctx, f)
		b.check(err)
		if total != len(want) {
			t.Errorf("total %d, want %d", total, len(want))
		}
		for _, x := range list {
			if x.Since.After(last) {
				t.Errorf("%s of %v comes after %v", x.Word, x.Since, last)
			}
			last, got[x.Turn.ID] = x.Since, x
		}
		f.Page.Cursor = next
	}
	if len(got) != len(want) {
		t.Fatalf("%d turns, want %d", len(got), len(want))
	}
	for id, word := range want {
		if got[id].Word != word {
			t.Errorf("%s is %q", word, got[id].Word)
		}
		turn, _, err := b.TurnAt(b.ctx, got[id].Session.ID, got[id].Turn.Index)
		b.check(err)
		if since := b.since(turn, word); !got[id].Since.Equal(since.Truncate(time.Millisecond)) {
			t.Errorf("%s since %v, its own events say %v", word, got[id].Since, since)
		}
	}
	f = agent.TurnFilter{Project: project, Agent: "helper", States: []string{"completed", "limit"}, Session: "", Page: agent.Page{Limit: 9}}
	if list, _, total, err := b.TurnStates(b.ctx, f); err != nil || len(list) != 2 || total != 2 {
		t.Errorf("two states: %d of %d, %v", len(list), total, err)
	}
	f.States, f.Since = nil, time.Now().Add(time.Hour)
	if list, _, _, err := b.TurnStates(b.ctx, f); err != nil || len(list) != 0 {
		t.Errorf("since later: %d, %v", len(list), err)
	}
	f.Page.Cursor = "x"
	if _, _, _, err := b.TurnStates(b.ctx, f); err == nil {
		t.Error("a bad cursor is taken")
	}
	if _, _, err := b.TurnAt(b.ctx, foreign.Session.ID, 9); err == nil {
		t.Error("there is a turn at 9")
	}
}

// since is when a turn came to its state, by its row and its events.
func (b *bed) since(turn agent.Turn, word string) time.Time {
	b.t.Helper()
	switch {
	case word == "cancelled":
		return turn.Stop.At
	case !turn.EndedAt.IsZero():
		return turn.EndedAt
	case word == "queued":
		return turn.CreatedAt
	}
	at := turn.StartedAt
	events, err := b.Transcript(b.ctx, turn.Session)
	b.check(err)
	for _, e := range events {
		if k := e.Kind(); k == agent.KindTurnPaused || k == agent.KindActionDecided {
			at = e.At
		}
	}
	return at
}
