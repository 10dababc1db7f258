package turn

import (
	"cmp"
	"time"
)

// Times are the periods of the protocol. Zero fields get the defaults, which
// slot-protocol derives from each other; change them together or not at all.
type Times struct {
	Lease     time.Duration // how long a node may be silent before others may declare it dead: 10 s
	Margin    time.Duration // a lease older than Lease-Margin starts nothing: 3 s
	Renew     time.Duration // interval of renewals: 2 s
	Limit     time.Duration // of one renewal: 1 s
	Redial    time.Duration // pause after a failed one: 0.5 s
	MaxOutage time.Duration // own age at which a node ends its turns as lost: 67 s

	Watch     time.Duration // poll of the stop watch: 250 ms
	Sweep     time.Duration // sweep, reconcile, declare: 1 s
	Claim     time.Duration // poll for queued turns: 500 ms
	Flush     time.Duration // least interval of journal writes: 50 ms
	FlushMax  time.Duration // and the most, under load: 250 ms
	Feed      time.Duration // poll for followers of other nodes' turns: 100 ms
	Write     time.Duration // limit of one settling or stopping transaction: 2 s
	WindDown  time.Duration // how long a message waits for a stopping turn: 2 s
	ToolGrace time.Duration // how long a tool may outlive its own limit before it is unconfirmed: 2 s
	Drain     time.Duration // how long turns may finish in after Run's context ended: 20 s
}

func (t Times) withDefaults() Times {
	return Times{
		Lease:     cmp.Or(t.Lease, 10*time.Second),
		Margin:    cmp.Or(t.Margin, 3*time.Second),
		Renew:     cmp.Or(t.Renew, 2*time.Second),
		Limit:     cmp.Or(t.Limit, time.Second),
		Redial:    cmp.Or(t.Redial, 500*time.Millisecond),
		MaxOutage: cmp.Or(t.MaxOutage, 67*time.Second),
		Watch:     cmp.Or(t.Watch, 250*time.Millisecond),
		Sweep:     cmp.Or(t.Sweep, time.Second),
		Claim:     cmp.Or(t.Claim, 500*time.Millisecond),
		Flush:     cmp.Or(t.Flush, 50*time.Millisecond),
		FlushMax:  cmp.Or(t.FlushMax, 250*time.Millisecond),
		Feed:      cmp.Or(t.Feed, 100*time.Millisecond),
		Write:     cmp.Or(t.Write, 2*time.Second),
		WindDown:  cmp.Or(t.WindDown, 2*time.Second),
		ToolGrace: cmp.Or(t.ToolGrace, 2*time.Second),
		Drain:     cmp.Or(t.Drain, 20*time.Second),
	}
}
