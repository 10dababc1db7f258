package turntest

import (
	"errors"

	"github.com/belayrun/belay/internal/agent"
)

func readCases() []storeCase {
	return []storeCase{
		{name: "packed text replays with its own numbers after every number", run: readAfter},
		{name: "pages of any size hold every event once", run: readPages},
		{name: "the transcript is everything but what was streamed", run: readTranscript},
		{name: "news come for many sessions, above each one's number", run: readNews},
		{name: "an unknown turn is not found", run: readUnknown},
	}
}

// told writes a turn with every kind of row, in several batches.
func (f *fixture) told() *leg {
	f.t.Helper()
	l := f.running(f.node("a"))
	l.append(l.rows(agent.ReasoningDelta{Text: "hm, "}, agent.ReasoningDelta{Text: "世界"}))
	l.append(l.say(anyText()...))
	l.startTool("c1", nil)
	l.append(l.rows(
		agent.ToolOutput{CallID: "c1", Text: "50 %\n"}, agent.ToolOutput{CallID: "c1", Text: "100 %\n"},
		agent.ToolFinished{CallID: "c1", Name: "look", Outcome: agent.ToolSuccess, Output: "ok", DurationMS: 3},
	))
	l.append(l.say("so ", "it ", "is"))
	l.settle(l.answered("so it is"))
	return l
}

// Field report M 78: resume anywhere, nothing twice and nothing left out.
func readAfter(f *fixture) {
	l := f.told()
	all := f.events(l.Session.ID)
	for i, e := range all {
		f.want(e.Seq == int64(i+1), "event %d has number %d", i, e.Seq)
	}
	for after := range int64(len(all)) + 1 {
		got, err := again(func() ([]agent.Event, error) { return f.store.Events(f.ctx, l.Session.ID, after, 1000) })
		f.check(err)
		f.sameEvents(got, all[after:])
	}
}

func (f *fixture) sameEvents(got, want []agent.Event) {
	f.t.Helper()
	f.want(len(got) == len(want), "%d events, want %d", len(got), len(want))
	for i, e := range got {
		f.want(same(e, want[i]), "event %d is %+v, want %+v", i, e, want[i])
	}
}

func readPages(f *fixture) {
	l := f.told()
	all := f.events(l.Session.ID)
	for _, limit := range []int{1, 2, 3, 7} {
		var got []agent.Event
		for after := int64(0); ; after = got[len(got)-1].Seq {
			page, err := again(func() ([]agent.Event, error) { return f.store.Events(f.ctx, l.Session.ID, after, limit) })
			f.check(err)
			if len(page) == 0 {
				break
			}
			f.want(after > 0 || limit > 2 || len(page) == limit, "the first page of %d rows has %d events", limit, len(page))
			got = append(got, page...)
		}
		f.sameEvents(got, all)
	}
}

func readTranscript(f *fixture) {
	l := f.told()
	var want []agent.Event
	for _, e := range f.events(l.Session.ID) {
		switch e.Kind() {
		case agent.KindTextDelta, agent.KindReasoningDelta, agent.KindToolOutput:
		default:
			want = append(want, e)
		}
	}
	got, err := again(func() ([]agent.Event, error) { return f.store.Transcript(f.ctx, l.Session.ID) })
	f.check(err)
	f.sameEvents(got, want)
}

func readNews(f *fixture) {
	x, y := f.told(), f.told()
	quiet := f.told()
	inRow := int64(5) // in the middle of a row of text
	last := f.events(quiet.Session.ID)
	got, err := again(func() ([]agent.Event, error) {
		return f.store.News(f.ctx, map[string]int64{
			x.Session.ID: 0, y.Session.ID: inRow, quiet.Session.ID: last[len(last)-1].Seq, agent.NewID(): 0,
		})
	})
	f.check(err)
	by := map[string][]agent.Event{}
	for i, e := range got {
		f.want(len(by[e.Session]) == 0 || got[i-1].Session == e.Session, "the news of session %s are not together", e.Session)
		by[e.Session] = append(by[e.Session], e)
	}
	f.want(len(by) == 2, "news of %d sessions, want 2", len(by))
	f.sameEvents(by[x.Session.ID], f.events(x.Session.ID))
	f.sameEvents(by[y.Session.ID], f.events(y.Session.ID)[inRow:])
	none, err := again(func() ([]agent.Event, error) { return f.store.News(f.ctx, nil) })
	f.want(err == nil && len(none) == 0, "news for nobody: %v, %v", none, err)
}

func readUnknown(f *fixture) {
	_, _, err := f.store.Turn(f.ctx, agent.NewID())
	f.want(errors.Is(err, agent.ErrNotFound), "%v, want %v", err, agent.ErrNotFound)
	events, err := f.store.Events(f.ctx, agent.NewID(), 0, 10)
	f.want(err == nil && len(events) == 0, "events of nobody: %v, %v", events, err)
}
