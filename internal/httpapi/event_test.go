package httpapi

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/belayrun/belay/internal/agent"
)

func TestTimesAreToTheMillisecond(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		at := time.Unix(rapid.Int64Range(0, 1<<35).Draw(t, "s"), rapid.Int64Range(0, 1e9-1).Draw(t, "ns"))
		at = at.In(time.FixedZone("", rapid.IntRange(-40000, 40000).Draw(t, "zone")))
		if got, want := string(appendTime(nil, at)), at.UTC().Format("2006-01-02T15:04:05.000Z"); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	})
}

// TestADeltaCostsNoAllocation: they are most of all events.
func TestADeltaCostsNoAllocation(t *testing.T) {
	buf := make([]byte, 0, 4<<10)
	for _, body := range []agent.Body{agent.TextDelta{Text: "some \"words\" "}, agent.ReasoningDelta{Text: "größer\n"}} {
		e := agent.Event{Session: "s", Turn: "t", Seq: 7, Body: body, At: time.Now()}
		if n := testing.AllocsPerRun(1000, func() { buf, _ = AppendEventFrame(buf[:0], e) }); n != 0 {
			t.Errorf("%s: %v allocations", e.Kind(), n)
		}
	}
}

func BenchmarkTextDelta(b *testing.B) {
	e := agent.Event{Session: "s", Turn: "7a0000000000000000000002", Seq: 7, Body: agent.TextDelta{Text: "some words of an answer "}, At: time.Now()}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf, _ = AppendEventFrame(buf[:0], e)
	}
}
