package bench_test

import (
	"slices"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/bench"
)

func TestQuantilesAreTimesThatWereMeasured(t *testing.T) {
	t.Parallel()
	times := make([]time.Duration, 100)
	for i := range times {
		times[i] = time.Duration(100-i) * time.Millisecond
	}
	before := slices.Clone(times)
	d := bench.NewDist(times)
	for q, want := range map[float64]time.Duration{0: 1, .5: 50, .9: 90, .99: 99, .995: 100, 1: 100} {
		if got := d.Quantile(q); got != want*time.Millisecond {
			t.Errorf("quantile %v = %v, want %v ms", q, got, int(want))
		}
	}
	if d.Max() != 100*time.Millisecond {
		t.Errorf("max = %v", d.Max())
	}
	if !slices.Equal(times, before) {
		t.Error("the caller's times were moved")
	}
}

func TestQuantilesOfLittle(t *testing.T) {
	t.Parallel()
	if d := bench.NewDist(nil); d.Quantile(.5) != 0 || d.Max() != 0 {
		t.Error("nothing has a quantile")
	}
	one := bench.NewDist([]time.Duration{7})
	for _, q := range []float64{0, .5, .99, 1} {
		if one.Quantile(q) != 7 {
			t.Errorf("quantile %v of one = %v", q, one.Quantile(q))
		}
	}
}
