package assistants

import (
	"slices"
	"strconv"
	"testing"

	"github.com/belayrun/belay/internal/httpapi"
)

// numbers is a list of the numbers from 0 to n-1, of which those that keep
// refuses are not shown.
func numbers(n int64, keep func(int64) bool) source[int64] {
	return source[int64]{
		first: -1, last: n, keep: keep, position: func(x int64) int64 { return x },
		at: func(param, id string) (int64, error) {
			x, err := strconv.ParseInt(id, 10, 64)
			if err != nil {
				err = httpapi.Invalid(param, "must be a number")
			}
			return x, err
		},
		read: func(from int64, below bool, most int) (out []int64, err error) {
			step := int64(1)
			if below {
				step = -1
			}
			for x := from + step; x >= 0 && x < n && len(out) < most; x += step {
				out = append(out, x)
			}
			return out, nil
		},
	}
}

func TestPagesOfAnySizeHoldEveryThingOnceInEitherDirection(t *testing.T) {
	t.Parallel()
	for _, keep := range []func(int64) bool{nil, func(x int64) bool { return x%3 != 1 }, func(int64) bool { return false }} {
		for n := range int64(9) {
			var want []int64
			for x := range n {
				if keep == nil || keep(x) {
					want = append(want, x)
				}
			}
			for limit := 1; limit <= 10; limit++ {
				for _, desc := range []bool{false, true} {
					forth := walkAll(t, numbers(n, keep), page{limit: limit, desc: desc}, false)
					back := walkAll(t, numbers(n, keep), page{limit: limit, desc: desc}, true)
					all := slices.Clone(want)
					if desc {
						slices.Reverse(all)
					}
					if !slices.Equal(forth, all) || !slices.Equal(back, all) {
						t.Errorf("%d by %d, desc %v: %v by after, %v by before, want %v", n, limit, desc, forth, back, all)
					}
				}
			}
		}
	}
}

// walkAll reads a list page by page: forwards by after from its beginning, or
// backwards by before from its end.
func walkAll(t *testing.T, s source[int64], p page, backwards bool) (all []int64) {
	t.Helper()
	if backwards {
		p.before = strconv.FormatInt(s.last, 10)
		if p.desc {
			p.before = "-1"
		}
	}
	for more := true; more; {
		list, again, err := cut(p, s)
		if err != nil || len(list) > p.limit || again && len(list) == 0 {
			t.Fatalf("%v, more %v, %v", list, again, err)
		}
		more = again
		switch {
		case len(list) == 0:
		case backwards:
			all = append(slices.Clone(list), all...)
			p.before = strconv.FormatInt(list[0], 10)
		default:
			all = append(all, list...)
			p.after = strconv.FormatInt(list[len(list)-1], 10)
		}
	}
	return all
}

func TestAPageBetweenTwoEndsBeforeTheSecond(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		page
		want []int64
		more bool
	}{
		{page{limit: 9, after: "1", before: "5"}, []int64{2, 3, 4}, false},
		{page{limit: 2, after: "1", before: "5"}, []int64{2, 3}, true},
		{page{limit: 9, desc: true, after: "5", before: "1"}, []int64{4, 3, 2}, false},
		{page{limit: 9, after: "5", before: "1"}, nil, false},
	} {
		list, more, err := cut(c.page, numbers(8, nil))
		if err != nil || !slices.Equal(list, c.want) || more != c.more {
			t.Errorf("%+v: %v, more %v, %v", c.page, list, more, err)
		}
	}
	if _, _, err := cut(page{limit: 1, before: "x"}, numbers(8, nil)); err == nil {
		t.Error("an id that is none")
	}
}
