package bench

import (
	"math"
	"slices"
	"time"
)

// Dist is a set of measured times, sorted.
type Dist []time.Duration

// NewDist sorts a copy of the times.
func NewDist(times []time.Duration) Dist {
	d := Dist(slices.Clone(times))
	slices.Sort(d)
	return d
}

// Quantile returns the smallest time that a share q of all does not exceed (the
// nearest-rank quantile), 0 where there is none.
func (d Dist) Quantile(q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	i := int(math.Ceil(q*float64(len(d)))) - 1
	return d[min(max(i, 0), len(d)-1)]
}

// Max is the longest time, 0 where there is none.
func (d Dist) Max() time.Duration { return d.Quantile(1) }

// median of values that belong to no time, 0 where there is none.
func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Clone(v)
	slices.Sort(v)
	return v[len(v)/2]
}
