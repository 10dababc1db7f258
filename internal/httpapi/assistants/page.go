package assistants

import (
	"net/http"
	"slices"

	"github.com/belayrun/belay/internal/httpapi"
)

// page is which part of a list is asked for.
type page struct {
	limit         int
	desc          bool
	after, before string // ids, empty: none
}

func readPage(r *http.Request) (page, error) {
	q := r.URL.Query()
	p := page{desc: true, after: q.Get("after"), before: q.Get("before")}
	switch q.Get("order") {
	case "", "desc":
	case "asc":
		p.desc = false
	default:
		return p, httpapi.Invalid("order", "must be asc or desc")
	}
	n, err := httpapi.QueryInt(r, "limit", 20, 1, 100)
	p.limit = int(n)
	return p, err
}

// source is a list whose things have positions, in which they never change
// their order.
type source[T any] struct {
	first, last int64 // before and after all positions
	// at returns the position of the id in a parameter; an error where the list has
	// none such.
	at func(param, id string) (int64, error)
	// read returns up to n things next to a position, nearest first: below it or
	// above it.
	read     func(from int64, below bool, n int) ([]T, error)
	position func(T) int64
	// keep says which things there are for a caller; nil: all.
	keep func(T) bool
}

// cut returns a page of a list, and whether there is more behind it in the
// direction that it was read in: from after on or, where only before is given,
// backwards from that.
func cut[T any](p page, s source[T]) (list []T, more bool, err error) {
	below, until := p.desc, int64(-1)
	from := s.first
	switch {
	case p.after != "":
		from, err = s.at("after", p.after)
		if err == nil && p.before != "" {
			until, err = s.at("before", p.before)
		}
	case p.before != "":
		below = !p.desc
		from, err = s.at("before", p.before)
	case below:
		from = s.last
	}
	if err != nil {
		return nil, false, err
	}
	list, more, err = s.walk(from, until, below, p.limit)
	if p.after == "" && p.before != "" {
		slices.Reverse(list)
	}
	return list, more, err
}

// walk reads on until it has a page, or is at its end or at until (-1: none).
func (s source[T]) walk(from, until int64, below bool, limit int) (list []T, more bool, err error) {
	for {
		batch, err := s.read(from, below, limit+1)
		if err != nil {
			return nil, false, err
		}
		for _, x := range batch {
			from = s.position(x)
			switch {
			case until >= 0 && (below && from <= until || !below && from >= until):
				return list, false, nil
			case s.keep != nil && !s.keep(x):
				continue
			case len(list) == limit:
				return list, true, nil
			}
			list = append(list, x)
		}
		if len(batch) <= limit {
			return list, false, nil
		}
	}
}

// ends returns the ids of a page's first and last thing, nil where it is empty.
func ends[T any](list []T, id func(T) string) (first, last *string) {
	if len(list) == 0 {
		return nil, nil
	}
	return new(id(list[0])), new(id(list[len(list)-1]))
}
