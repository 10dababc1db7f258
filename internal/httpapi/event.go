package httpapi

import (
	"strconv"
	"time"

	"github.com/belayrun/belay/internal/agent"
)

// AppendEventFrame appends an event as a frame of a stream: its number is the
// frame's id, its kind the frame's event.
func AppendEventFrame(dst []byte, e agent.Event) ([]byte, error) {
	dst, err := AppendEvent(AppendFrame(dst, e.Seq, string(e.Kind())), e)
	return append(dst, FrameEnd...), err
}

// appendTime appends an instant as RFC 3339 has it, in UTC and to the
// millisecond. The layout of package time for that is far slower.
func appendTime(dst []byte, t time.Time) []byte {
	t = t.UTC()
	dst = t.AppendFormat(dst, time.RFC3339)
	ms := t.Nanosecond() / 1e6
	return append(dst[:len(dst)-1], '.', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10), 'Z')
}

// AppendEvent appends an event of a journal as the native event streams have it:
// {seq, type, run_id, created_at, data}. Deltas are most of all events: they are
// written without reflection.
func AppendEvent(dst []byte, e agent.Event) ([]byte, error) {
	dst = append(dst, `{"seq":`...)
	dst = strconv.AppendInt(dst, e.Seq, 10)
	dst = append(dst, `,"type":"`...)
	dst = append(dst, e.Kind()...)
	dst = append(dst, `","run_id":`...)
	dst = AppendString(dst, e.Run())
	dst = append(dst, `,"created_at":"`...)
	dst = appendTime(dst, e.At)
	dst = append(dst, `","data":`...)
	var err error
	switch b := e.Body.(type) {
	case agent.TextDelta:
		dst = appendText(dst, b.Text)
	case agent.ReasoningDelta:
		dst = appendText(dst, b.Text)
	case agent.TurnPaused:
		if b.Actions == nil {
			b.Actions = []string{}
		}
		dst, err = AppendJSON(dst, b)
	default:
		dst, err = AppendJSON(dst, b)
	}
	return append(dst, '}'), err
}

func appendText(dst []byte, s string) []byte {
	dst = append(dst, `{"text":`...)
	return append(AppendString(dst, s), '}')
}
