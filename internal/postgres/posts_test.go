package postgres_test

import (
	"fmt"
	"math"
	"reflect"
	"testing"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/postgres"
	"github.com/belayrun/belay/internal/turn/turntest"
)

func (b *bed) thread(messages ...agent.Prompt) agent.Session {
	b.t.Helper()
	s := agent.Session{Project: turntest.DefaultProject, Owner: "token:ann", Door: agent.DoorAssistants, Metadata: map[string]string{"a": "ä"}}
	for range 2 { // once more after a reply that was lost
		info, err := b.CreateSession(b.ctx, s, messages)
		b.check(err)
		s = info.Session
	}
	return s
}

func TestAThreadHasItsMessagesBeforeItsFirstTurn(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	node := b.node()
	s := b.thread(agent.Prompt{Role: agent.RoleAssistant, Text: "hi"}, agent.Prompt{Role: agent.RoleUser, Text: "one \x00 two"})
	info, err := b.Session(b.ctx, s.ID)
	b.check(err)
	if info.State != agent.SlotIdle || info.Agent != "" || info.Title != "one \uFFFD two" || info.Metadata["a"] != "ä" || info.Owner != "token:ann" {
		t.Errorf("session %+v", info)
	}
	b.check(b.SetMetadata(b.ctx, s.ID, map[string]string{"b": "c"}))
	begin := newBegin(node)
	begin.Session, begin.New, begin.NoInput = s, false, true
	leg := b.take(begin)
	if leg.Turn.Index != 2 || leg.Seq != 2 || leg.Session.Agent != "helper" {
		t.Errorf("leg %+v", leg)
	}
	info, err = b.Session(b.ctx, s.ID)
	b.check(err)
	if info.Agent != "helper" || !reflect.DeepEqual(info.Metadata, map[string]string{"b": "c"}) {
		t.Errorf("session %+v", info)
	}
	if err := b.SetMetadata(b.ctx, "none", nil); err == nil {
		t.Error("metadata of nothing")
	}
}

func TestMessagesAndTurnsArePagedBackwardsToo(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	node := b.node()
	s := b.thread(agent.Prompt{Role: agent.RoleUser, Text: "one"}, agent.Prompt{Role: agent.RoleUser, Text: "two"})
	var turns []string
	for i := range 3 {
		begin := newBegin(node)
		begin.Session, begin.New, begin.NoInput = s, false, i != 1
		leg := b.talk(begin, fmt.Sprint("answer ", i))
		turns = append(turns, leg.Turn.ID)
	}
	const messages = 6 // two, three answers and one question
	for before := range messages + 2 {
		for limit := range messages + 2 {
			var got, want []int
			list, err := b.MessagesBefore(b.ctx, s.ID, before, limit)
			b.check(err)
			for _, e := range list {
				got = append(got, e.Body.(agent.Message).Index)
			}
			for i := min(before, messages) - 1; i >= 0 && len(want) < limit; i-- {
				want = append(want, i)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("before %d, limit %d: %v, want %v", before, limit, got, want)
			}
		}
	}
	ids := func(list []agent.Turn, err error) (out []string) {
		t.Helper()
		b.check(err)
		for _, x := range list {
			out = append(out, x.ID)
		}
		return out
	}
	if got := ids(b.TurnsAfter(b.ctx, s.ID, 0, 9)); !reflect.DeepEqual(got, turns) {
		t.Errorf("turns %v, want %v", got, turns)
	}
	newest := ids(b.TurnsBefore(b.ctx, s.ID, math.MaxInt64, 2))
	if !reflect.DeepEqual(newest, []string{turns[2], turns[1]}) {
		t.Errorf("newest turns %v of %v", newest, turns)
	}
	middle, _, err := b.Turn(b.ctx, turns[1])
	b.check(err)
	if got := ids(b.TurnsAfter(b.ctx, s.ID, middle.FirstSeq, 9)); !reflect.DeepEqual(got, turns[2:]) {
		t.Errorf("turns after the middle one %v, want %v", got, turns[2:])
	}
	if got := ids(b.TurnsBefore(b.ctx, s.ID, middle.FirstSeq, 9)); !reflect.DeepEqual(got, turns[:1]) {
		t.Errorf("turns before the middle one %v, want %v", got, turns[:1])
	}
}
