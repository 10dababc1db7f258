package responses

import (
	"strconv"

	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/httpapi/apigen"
)

// begin numbers an event and, unless nobody wants it, begins its frame: the rest
// of its JSON and then close are to follow. A follower that says it has seen more
// than there is gets the end: retention has made the response shorter since.
func (r *renderer) begin(kind string, terminal bool) (wanted bool) {
	n := r.number
	r.number++
	if r.quiet || n <= r.after && !terminal {
		return false
	}
	b := append(httpapi.AppendFrame(r.out, n, kind), `{"type":"`...)
	b = append(b, kind...)
	b = append(b, `","sequence_number":`...)
	r.out = strconv.AppendInt(b, n, 10)
	return true
}

func (r *renderer) close() { r.out = append(r.out, "}"+httpapi.FrameEnd...) }

// value ends an event with a value that before names.
func (r *renderer) value(before string, v any) (err error) {
	r.out, err = httpapi.AppendJSON(append(r.out, before...), v)
	r.close()
	return err
}

// appendItem appends which item an event is about.
func appendItem(dst []byte, it *item) []byte {
	dst = append(dst, `,"item_id":`...)
	dst = httpapi.AppendString(dst, it.id)
	dst = append(dst, `,"output_index":`...)
	return strconv.AppendInt(dst, int64(it.index), 10)
}

// delta renders an event with one text: before and after are what surrounds it.
// It is most of all events, so nothing here reflects.
func (r *renderer) delta(kind string, it *item, before, text, after string) {
	if !r.begin(kind, false) {
		return
	}
	b := append(appendItem(r.out, it), before...)
	r.out = append(httpapi.AppendString(b, text), after...)
	r.close()
}

func (r *renderer) callEvent(kind string, it *item) {
	if r.begin(kind, false) {
		r.out = appendItem(r.out, it)
		r.close()
	}
}

func (r *renderer) itemEvent(kind string, it *item) error {
	if !r.begin(kind, false) {
		return nil
	}
	r.out = append(r.out, `,"output_index":`...)
	r.out = strconv.AppendInt(r.out, int64(it.index), 10)
	return r.value(`,"item":`, it.wire())
}

func (r *renderer) partEvent(kind string, it *item, part apigen.OutputText) error {
	if !r.begin(kind, false) {
		return nil
	}
	r.out = appendItem(r.out, it)
	return r.value(`,"content_index":0,"part":`, part)
}

func (r *renderer) summaryEvent(kind string, it *item, part apigen.SummaryText) error {
	if !r.begin(kind, false) {
		return nil
	}
	r.out = appendItem(r.out, it)
	return r.value(`,"summary_index":0,"part":`, part)
}

func (r *renderer) lifecycle(kind string, terminal bool) error {
	if !r.begin(kind, terminal) {
		return nil
	}
	return r.value(`,"response":`, r.response())
}
