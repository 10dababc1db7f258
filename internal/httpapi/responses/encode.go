package responses

import (
	"strconv"

	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/httpapi/apigen"
)

// put numbers an event and, unless nobody wants it, encodes it: fill appends
// what comes after type and number. A quiet renderer counts all the same.
func (r *renderer) put(kind string, terminal bool, fill func(dst []byte) ([]byte, error)) error {
	n := r.number
	r.number++
	if r.quiet {
		return nil
	}
	from := len(r.buf)
	r.buf = appendHead(r.buf, kind, n)
	var err error
	if r.buf, err = fill(r.buf); err != nil {
		return err
	}
	r.buf = append(r.buf, '}')
	r.events = append(r.events, event{kind: kind, number: n, terminal: terminal, data: r.buf[from:len(r.buf):len(r.buf)]})
	return nil
}

func appendHead(dst []byte, kind string, n int64) []byte {
	dst = append(dst, `{"type":"`...)
	dst = append(dst, kind...)
	dst = append(dst, `","sequence_number":`...)
	return strconv.AppendInt(dst, n, 10)
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
	n := r.number
	r.number++
	if r.quiet {
		return
	}
	from := len(r.buf)
	b := appendItem(appendHead(r.buf, kind, n), it)
	b = append(b, before...)
	b = httpapi.AppendString(b, text)
	b = append(b, after...)
	r.buf = append(b, '}')
	r.events = append(r.events, event{kind: kind, number: n, data: r.buf[from:len(r.buf):len(r.buf)]})
}

func (r *renderer) callEvent(kind string, it *item) {
	_ = r.put(kind, false, func(dst []byte) ([]byte, error) { return appendItem(dst, it), nil })
}

func (r *renderer) itemEvent(kind string, it *item) error {
	return r.put(kind, false, func(dst []byte) ([]byte, error) {
		dst = append(dst, `,"output_index":`...)
		dst = strconv.AppendInt(dst, int64(it.index), 10)
		return httpapi.AppendJSON(append(dst, `,"item":`...), it.wire())
	})
}

func (r *renderer) partEvent(kind string, it *item, part apigen.OutputText) error {
	return r.put(kind, false, func(dst []byte) ([]byte, error) {
		return httpapi.AppendJSON(append(appendItem(dst, it), `,"content_index":0,"part":`...), part)
	})
}

func (r *renderer) summaryEvent(kind string, it *item, part apigen.SummaryText) error {
	return r.put(kind, false, func(dst []byte) ([]byte, error) {
		return httpapi.AppendJSON(append(appendItem(dst, it), `,"summary_index":0,"part":`...), part)
	})
}

func (r *renderer) lifecycle(kind string, terminal bool) error {
	return r.put(kind, terminal, func(dst []byte) ([]byte, error) {
		return httpapi.AppendJSON(append(dst, `,"response":`...), r.response())
	})
}
