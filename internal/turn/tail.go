package turn

import (
	"sync"

	"github.com/belayrun/belay/internal/agent"
)

// keepDurable is how many stored events a followed tail keeps, so that a
// follower that is a little behind needs no query.
const keepDurable = 16

// tail is the newest part of one session's journal, as far as this node knows
// it: written by the leg that runs here, or by the feed. Followers pull from it
// at their own pace, each with its own cursor, so one that stalls costs nothing
// and misses nothing: what it finds no more here, it reads in the database.
type tail struct {
	session string

	mu        sync.Mutex
	base      int64 // every event up to here is in the database
	events    []agent.Event
	last      int64 // the newest number known here
	followers int
	legs      int           // legs of this node that write it: 0 or 1, and 2 where one was lost and winds down
	fence     int64         // of the newest leg here: what an older one says is no longer heard
	wake      chan struct{} // closed at the next change; nil: nobody waits
}

// append adds events of a leg in the order of their numbers.
func (t *tail) append(fence int64, events ...agent.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if fence < t.fence {
		return
	}
	for _, e := range events {
		if e.Seq > t.last {
			t.events = append(t.events, e)
			t.last = e.Seq
		}
	}
	t.wakeLocked()
}

// reset forgets what is above seq and not stored, and takes the database's word
// for all up to seq.
func (t *tail) reset(fence, seq int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if fence < t.fence {
		return
	}
	t.fence = fence
	t.base, t.last, t.events = seq, seq, nil
	t.wakeLocked()
}

// durable says that all events of a leg up to seq are stored.
func (t *tail) durable(fence, seq int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if fence >= t.fence {
		t.trim(seq)
	}
}

// trim drops stored events. Where somebody follows, it leaves some and comes by
// the rarer: each time copies what is left. The caller holds the lock.
func (t *tail) trim(seq int64) {
	n := 0
	for n < len(t.events) && t.events[n].Seq <= seq {
		n++
	}
	if t.followers > 0 && n < 2*keepDurable {
		return
	}
	if t.followers > 0 {
		n -= keepDurable
	}
	if n == 0 {
		return
	}
	t.base = t.events[n-1].Seq
	t.events = append(t.events[:0:0], t.events[n:]...)
}

func (t *tail) wakeLocked() {
	if t.wake != nil {
		close(t.wake)
		t.wake = nil
	}
}

// after returns the events above cursor, and a channel that is closed at the
// next change. behind: the database has some that the tail has not; all up to
// base are there.
func (t *tail) after(cursor int64) (events []agent.Event, changed <-chan struct{}, behind bool, base int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if cursor < t.base {
		return nil, nil, true, t.base
	}
	i := len(t.events)
	for i > 0 && t.events[i-1].Seq > cursor {
		i--
	}
	if i < len(t.events) {
		return append([]agent.Event(nil), t.events[i:]...), nil, false, t.base
	}
	if t.wake == nil {
		t.wake = make(chan struct{})
	}
	return nil, t.wake, false, t.base
}

// hub holds the tails of the sessions that are run or followed here.
type hub struct {
	mu    sync.Mutex
	tails map[string]*tail
}

func newHub() *hub { return &hub{tails: make(map[string]*tail)} }

// join returns the session's tail and counts a follower; nil where there is none.
// It must be given back with leave.
func (h *hub) join(session string) *tail {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.tails[session]
	if t != nil {
		t.mu.Lock()
		t.followers++
		t.mu.Unlock()
	}
	return t
}

// follow returns the session's tail and counts a follower. A tail that is made for
// it begins above stored, up to which the database has all. It must be given back
// with leave.
func (h *hub) follow(session string, stored int64) *tail {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.tails[session]
	if t == nil {
		t = &tail{session: session, base: stored, last: stored}
		h.tails[session] = t
	}
	t.mu.Lock()
	t.followers++
	t.mu.Unlock()
	return t
}

// followed reports whether anybody here follows a session that runs elsewhere.
func (h *hub) followed(session string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.tails[session]
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.legs == 0 && t.followers > 0
}

// write returns the session's tail for a leg that begins above seq. It must be
// given back with leave.
func (h *hub) write(l agent.Lease, seq int64) *tail {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.tails[l.Session]
	if t == nil {
		t = &tail{session: l.Session}
		h.tails[l.Session] = t
	}
	t.mu.Lock()
	t.legs++
	t.mu.Unlock()
	t.reset(l.Fence, seq)
	return t
}

// leave gives a tail back.
func (h *hub) leave(t *tail, leg bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if leg {
		t.legs--
	} else {
		t.followers--
	}
	if t.legs+t.followers == 0 {
		delete(h.tails, t.session)
	}
}

// remote returns the cursors of the sessions that are followed here and run
// elsewhere, or nowhere.
func (h *hub) remote() map[string]int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out map[string]int64
	for s, t := range h.tails {
		t.mu.Lock()
		if t.legs == 0 && t.followers > 0 {
			if out == nil {
				out = make(map[string]int64)
			}
			out[s] = t.last
		}
		t.mu.Unlock()
	}
	return out
}

// fed gives a session's tail what the feed read for it above cursor. What was
// read before a leg began here, or before somebody else moved the tail, is
// dropped: the next reading has it.
func (h *hub) fed(session string, cursor int64, events []agent.Event) {
	h.mu.Lock()
	t := h.tails[session]
	h.mu.Unlock()
	if t == nil || len(events) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.legs > 0 || t.last != cursor {
		return
	}
	t.events = append(t.events, events...)
	t.last = events[len(events)-1].Seq
	t.wakeLocked()
	t.trim(t.last)
}

// followers counts them.
func (h *hub) followers() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, t := range h.tails {
		t.mu.Lock()
		n += t.followers
		t.mu.Unlock()
	}
	return n
}
