package mcp_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestProgressIsShownWhileACallRuns(t *testing.T) {
	each(t, func(t *testing.T, x *fixture) {
		box := open(t, x.source(), x.ref)
		shown, out := x.steps(t.Context(), box["steps"].Stream, 3, 400, "halfway")
		if out != "stepped" || shown != "1/3: halfway\n2/3: halfway\n3/3: halfway\n" {
			t.Errorf("shown %q, then %q", shown, out)
		}
		// Nobody watches: the server is not asked to tell.
		if got := call(t, box["steps"], `{"n":3,"ms":0,"says":"x"}`); got != "stepped" {
			t.Error(got)
		}
	})
}

// A server that tells without end is heard at a pace that a journal can take. What
// comes with the result may be too late to be shown: it takes half a second.
func TestProgressHasBounds(t *testing.T) {
	each(t, func(t *testing.T, x *fixture) {
		box := open(t, x.source(), x.ref)
		var wg sync.WaitGroup
		for range 3 { // side by side in one session, and each its own
			wg.Go(func() {
				shown, out := x.steps(t.Context(), box["steps"].Stream, 100, 5, strings.Repeat("é", 2000))
				if lines := strings.Count(shown, "\n"); out != "stepped" || lines == 0 || lines > 50 || len(shown) > lines*1100 {
					t.Errorf("%d bytes in %d lines were shown, then %q", len(shown), lines, out)
				}
			})
		}
		wg.Wait()
	})
}

// steps calls the tool steps and returns what it showed. Nothing may be shown
// after it has returned, or beside itself.
func (x *fixture) steps(ctx context.Context, stream func(context.Context, []byte, func(string)) (string, error), n, ms int, says string) (shown, out string) {
	var over atomic.Bool
	var busy sync.Mutex
	var text strings.Builder
	out, err := stream(ctx, fmt.Appendf(nil, `{"n":%d,"ms":%d,"says":%q}`, n, ms, says), func(s string) {
		if over.Load() || !busy.TryLock() {
			x.t.Error("shown after the end, or beside itself")
			return
		}
		defer busy.Unlock()
		text.WriteString(s)
	})
	over.Store(true)
	if err != nil {
		x.t.Error(err)
	}
	return text.String(), out
}
