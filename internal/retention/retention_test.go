package retention_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/belayrun/belay/internal/retention"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// heap is a sort of thing of which n are old enough.
func heap(n int, calls *[]time.Duration) retention.Expire {
	return func(_ context.Context, age time.Duration, batch int) (int, error) {
		*calls = append(*calls, age)
		gone := min(n, batch)
		n -= gone
		return gone, nil
	}
}

func TestEachRuleIsAppliedInBatchesUntilNothingIsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var deltas, runs, kept []time.Duration
		told := map[string]int{}
		w := retention.New(retention.Config{
			Batch: 10, Pause: time.Second, Observe: func(rule string, n int) { told[rule] += n },
			Rules: []retention.Rule{
				{Name: "deltas", Keep: time.Hour, Expire: heap(25, &deltas)},
				{Name: "kept", Keep: 0, Expire: heap(25, &kept)},
				{Name: "runs", Keep: 2 * time.Hour, Expire: heap(10, &runs)},
			},
		})
		began := time.Now()
		if err := w.Work(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("took %v: want a pause between batches", took)
		}
		hours := func(h, n int) []time.Duration { return slices.Repeat([]time.Duration{time.Duration(h) * time.Hour}, n) }
		if !slices.Equal(deltas, hours(1, 3)) || !slices.Equal(runs, hours(2, 2)) || kept != nil {
			t.Errorf("calls %v, %v, %v", deltas, runs, kept)
		}
		if told["deltas"] != 25 || told["runs"] != 10 || len(told) != 2 {
			t.Errorf("told %v", told)
		}
	})
}

func TestARuleThatFailsDoesNotKeepTheOthersFromBeingApplied(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	var runs []time.Duration
	w := retention.New(retention.Config{Rules: []retention.Rule{
		{Name: "deltas", Keep: time.Hour, Expire: func(context.Context, time.Duration, int) (int, error) { return 0, broken }},
		{Name: "runs", Keep: time.Hour, Expire: heap(1, &runs)},
	}})
	if err := w.Work(t.Context(), nil); !errors.Is(err, broken) || len(runs) != 1 {
		t.Errorf("%v, %d calls", err, len(runs))
	}
}

// What is not done within a run's time the next one does.
func TestARunThatTookLongEnoughEndsWithoutAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		calls := 0
		w := retention.New(retention.Config{Batch: 1, Pause: time.Second, Rules: []retention.Rule{
			{Name: "deltas", Keep: time.Hour, Expire: func(context.Context, time.Duration, int) (int, error) { calls++; return 1, nil }},
		}})
		if err := w.Work(ctx, nil); err != nil || calls < 9 || calls > 12 {
			t.Errorf("%v after %d calls", err, calls)
		}
	})
}
