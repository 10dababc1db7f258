package turn

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/belayrun/belay/internal/agent"
)

// journal is the part of a session's journal that one leg writes: it gives the
// numbers, shows events to followers at once and keeps what is not known to be
// stored. Whoever writes rows to the database for the leg does so alone: the
// node's flush marks the journal as flushing, record and settle hold its lock
// throughout.
type journal struct {
	lease agent.Lease
	store Journal
	tail  *tail

	mu       sync.Mutex
	idle     sync.Cond // flushing became false
	flushing bool
	closed   bool          // no more numbers: the leg is closed or lost
	seq      int64         // last number given
	open     []agent.Event // not packed yet
	rows     []agent.Row   // packed: may have been sent, never regrouped
}

func newJournal(l agent.Lease, s Journal, t *tail, seq int64) *journal {
	j := &journal{lease: l, store: s, tail: t, seq: seq}
	j.idle.L = &j.mu
	return j
}

// emit numbers an event, shows it and leaves it to the next flush. After the
// leg is closed it does nothing.
func (j *journal) emit(b agent.Body) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return
	}
	j.open = append(j.open, j.number(b))
	j.tail.append(j.lease.Fence, j.open[len(j.open)-1])
}

// number gives an event the next number. The caller holds the lock.
func (j *journal) number(b agent.Body) agent.Event {
	j.seq++
	return agent.Event{Session: j.lease.Session, Seq: j.seq, Turn: j.lease.Turn, Body: b, At: time.Now()}
}

// seal packs what is open. The caller holds the lock.
func (j *journal) seal() error {
	rows, err := agent.Pack(j.open)
	if err != nil {
		return err
	}
	j.rows = append(j.rows, rows...)
	j.open = nil
	return nil
}

// flush begins a write by the node's flush: the rows to send, nil when there is
// nothing to do or somebody else is at it. flushed must follow.
func (j *journal) flush() []agent.Row {
	if !j.mu.TryLock() {
		return nil
	}
	defer j.mu.Unlock()
	if j.closed || j.flushing || len(j.open)+len(j.rows) == 0 || j.seal() != nil {
		return nil
	}
	j.flushing = true
	return j.rows[:len(j.rows):len(j.rows)]
}

// flushed ends it: n rows are stored.
func (j *journal) flushed(n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.flushing = false
	j.idle.Broadcast()
	if n > 0 && !j.closed {
		j.stored(n)
	}
}

// stored forgets the first n rows. The caller holds the lock.
func (j *journal) stored(n int) {
	last := j.rows[n-1].Last
	j.rows = append(j.rows[:0:0], j.rows[n:]...)
	j.tail.durable(j.lease.Fence, last)
}

// alone locks the journal with no flush under way.
func (j *journal) alone() {
	j.mu.Lock()
	for j.flushing {
		j.idle.Wait()
	}
}

// record stores events that must be durable before what they announce is done,
// with all text before them, and opens actions. They are shown once they are
// stored. It fails with the stop that is asked for or agent.ErrLeaseLost, and
// then the events have not happened; while the database is away it tries on
// until ctx ends, and fails with its cause: the events may be stored then, so
// they are shown and kept.
func (j *journal) record(ctx context.Context, limit time.Duration, actions []agent.Action, bodies ...agent.Body) error {
	j.alone()
	defer j.mu.Unlock()
	if err := j.seal(); err != nil {
		return err
	}
	before, seq := len(j.rows), j.seq
	events := make([]agent.Event, len(bodies))
	for i, b := range bodies {
		events[i] = j.number(b)
	}
	rows, err := agent.Pack(events)
	if err != nil {
		j.seq = seq
		return err
	}
	if j.rows = append(j.rows, rows...); len(j.rows) == 0 {
		return nil
	}
	refused, err := j.send(ctx, limit, actions)
	if refused {
		j.rows, j.seq = j.rows[:before], seq
		return err
	}
	j.tail.append(j.lease.Fence, events...)
	if err == nil {
		j.stored(len(j.rows))
	}
	return err
}

// send stores all rows under the lease; see record. refused: the database said
// no before it can have stored anything.
func (j *journal) send(ctx context.Context, limit time.Duration, actions []agent.Action) (refused bool, err error) {
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		one, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
		err := j.store.Record(one, j.lease, j.rows, actions)
		cancel()
		if err == nil || !errors.Is(err, agent.ErrUnavailable) {
			return err != nil && wait == 10*time.Millisecond, err
		}
		if !sleep(ctx, wait) {
			return false, context.Cause(ctx)
		}
	}
}

// close ends the leg's writing: events that the settling transaction wrote are
// shown, anything later is dropped. lost: others closed the leg, and what is not
// stored never will be.
func (j *journal) close(events []agent.Event, lost bool) {
	j.closed = true
	if lost {
		j.tail.reset(j.lease.Fence, j.firstUnstored()-1)
	} else {
		j.tail.append(j.lease.Fence, events...)
		if n := len(events); n > 0 {
			j.tail.durable(j.lease.Fence, events[n-1].Seq)
		}
	}
	j.rows, j.open = nil, nil
}

// firstUnstored is the number of the first event not known to be stored. The
// caller holds the lock.
func (j *journal) firstUnstored() int64 {
	switch {
	case len(j.rows) > 0:
		return j.rows[0].Seq
	case len(j.open) > 0:
		return j.open[0].Seq
	}
	return j.seq + 1
}
