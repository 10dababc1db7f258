package turntest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/turn"
)

// Times are the times of the slot protocol that a store tests itself. A zero
// field is the default of the protocol's page.
type Times struct {
	Lease time.Duration // a node silent for longer may be declared dead; 10 s
	Gap   time.Duration // the longest silence that leaves a contact unbroken; 3 s
	Stray time.Duration // a leg younger than this is no stray; 2 s
}

func (t Times) orDefaults() Times {
	set := func(d *time.Duration, def time.Duration) {
		if *d == 0 {
			*d = def
		}
	}
	set(&t.Lease, 10*time.Second)
	set(&t.Gap, 3*time.Second)
	set(&t.Stray, 2*time.Second)
	return t
}

// Memory is a turn.Store and a turn.Hints in memory: one mutex is the database's
// serial order, and a method is a transaction. It reads the clock of package time
// and starts no goroutine, so it works inside a testing/synctest bubble. All
// methods may be called from many goroutines, the fault switches too.
type Memory struct {
	times  Times
	faults faults
	hints  hints

	mu       sync.Mutex
	clock    int64 // counts arrivals, to order what has the same time
	nodes    map[string]*memNode
	sessions map[string]*memSession
	turns    map[string]*memTurn
	actions  map[string]*memAction
	keys     map[memKey]memUse
}

// memKey is the key of a row of idempotency_keys, memUse the rest of it.
type memKey struct{ project, principal, key string }

type memUse struct {
	request [32]byte
	turn    string
	expires time.Time
}

var (
	_ turn.Store = (*Memory)(nil)
	_ turn.Hints = (*Memory)(nil)
)

// memNode is a row of nodes.
type memNode struct {
	label                 string
	renewed, contact, die time.Time // die zero: not declared dead
}

func (n *memNode) dead() bool { return n == nil || !n.die.IsZero() }

// memSession is a session, its slot and its journal.
type memSession struct {
	agent.Session
	slot memSlot
	rows []memRow // by number
}

// memSlot is a row of run_slots.
type memSlot struct {
	state    agent.SlotState
	turn     string
	node     string
	fence    int64
	depth    int
	seq      int64 // last number while nobody owns the slot
	messages int
	taken    time.Time
	queued   int64 // arrival
	queuedAt time.Time
	goesOn   bool      // queued: it goes before new turns
	expires  time.Time // queued: when it has been for too long; zero: never
	stop     *agent.Stop
}

// memRow is a row of events.
type memRow struct {
	agent.Row
	fence int64
}

// memTurn is a row of turns with its usage.
type memTurn struct {
	agent.Turn
	usage    []agent.Usage // by call
	took     int64         // fence of the take
	tookNode string
	closed   int64 // fence of the last leg that its owner closed
	closing  agent.Closed
}

// memAction is a row of actions.
type memAction struct {
	agent.Action
	arrived int64
	told    bool // its action.decided is in the journal
}

// NewMemory returns an empty store.
func NewMemory(times Times) *Memory {
	return &Memory{
		times:    times.orDefaults(),
		nodes:    map[string]*memNode{},
		sessions: map[string]*memSession{},
		turns:    map[string]*memTurn{},
		actions:  map[string]*memAction{},
		keys:     map[memKey]memUse{},
	}
}

// call runs one transaction between the fault hooks.
func call[T any](ctx context.Context, m *Memory, method string, tx func() (T, error)) (T, error) {
	var zero T
	if err := m.faults.before(ctx, method); err != nil {
		return zero, err
	}
	v, err := locked(m, tx)
	if lost := m.faults.after(method); lost != nil {
		return zero, lost
	}
	return v, err
}

func locked[T any](m *Memory, tx func() (T, error)) (T, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return tx()
}

// exec is call for a transaction that returns nothing.
func (m *Memory) exec(ctx context.Context, method string, tx func() error) error {
	_, err := call(ctx, m, method, func() (struct{}, error) { return struct{}{}, tx() })
	return err
}

// now is the database's clock, as fine as Postgres stores it.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

func (m *Memory) arrival() int64 {
	m.clock++
	return m.clock
}

// Join implements turn.Nodes.
func (m *Memory) Join(ctx context.Context, label string) (string, error) {
	return call(ctx, m, "Join", func() (string, error) {
		id, t := agent.NewID(), now()
		m.nodes[id] = &memNode{label: label, renewed: t, contact: t}
		return id, nil
	})
}

// Renew implements turn.Nodes.
func (m *Memory) Renew(ctx context.Context, node string) error {
	return m.exec(ctx, "Renew", func() error {
		n := m.nodes[node]
		if n.dead() {
			return agent.ErrNodeDead
		}
		t := now()
		if t.Sub(n.renewed) >= m.times.Gap {
			n.contact = t
		}
		n.renewed = t
		return nil
	})
}

// Leave implements turn.Nodes.
func (m *Memory) Leave(ctx context.Context, node string) error {
	return m.exec(ctx, "Leave", func() error {
		m.die(node)
		return nil
	})
}

func (m *Memory) die(node string) {
	if n := m.nodes[node]; !n.dead() {
		n.die = now()
	}
}

// DeclareDead implements turn.Janitor.
func (m *Memory) DeclareDead(ctx context.Context, me string) (int, error) {
	return call(ctx, m, "DeclareDead", func() (int, error) {
		t, n := now(), m.nodes[me]
		if n.dead() || t.Sub(n.renewed) >= m.times.Gap || t.Sub(n.contact) <= m.times.Lease {
			return 0, nil
		}
		for _, id := range slices.Sorted(maps.Keys(m.nodes)) {
			if x := m.nodes[id]; !x.dead() && t.Sub(x.renewed) > m.times.Lease {
				x.die = t
				return 1, nil
			}
		}
		return 0, nil
	})
}

// running returns the session of a lease whose leg still runs under it.
func (m *Memory) running(l agent.Lease) (*memSession, error) {
	s := m.sessions[l.Session]
	if s == nil || s.slot.state != agent.SlotRunning || s.slot.turn != l.Turn || s.slot.fence != l.Fence {
		return nil, fmt.Errorf("%s: %w", l, agent.ErrLeaseLost)
	}
	return s, nil
}

// ownerless reports whether others may settle what runs in the slot.
func (m *Memory) ownerless(s *memSession) bool {
	return s.slot.state == agent.SlotRunning && m.nodes[s.slot.node].dead()
}

// lease names the leg that runs in the slot.
func (s *memSession) lease() agent.Lease {
	return agent.Lease{Session: s.ID, Turn: s.slot.turn, Node: s.slot.node, Fence: s.slot.fence}
}

// last is the highest number in the journal or given to a leg.
func (s *memSession) last() int64 {
	if n := len(s.rows); n > 0 {
		return max(s.slot.seq, s.rows[n-1].Last)
	}
	return s.slot.seq
}

// store inserts rows; a number that is taken already keeps what it has.
func (s *memSession) store(fence int64, rows []agent.Row) {
	for _, r := range rows {
		i, found := slices.BinarySearchFunc(s.rows, r.Seq, func(a memRow, seq int64) int { return int(a.Seq - seq) })
		if found {
			continue
		}
		r.Body = slices.Clone(r.Body)
		s.rows = slices.Insert(s.rows, i, memRow{r, fence})
		if r.Kind == agent.KindMessage {
			s.slot.messages++
		}
	}
}

// write stores events that the transaction itself made.
func (s *memSession) write(events []agent.Event) error {
	rows, err := agent.Pack(events)
	if err != nil {
		return err
	}
	s.store(s.slot.fence, rows)
	if n := len(events); n > 0 {
		s.slot.seq = events[n-1].Seq
	}
	return nil
}

// events unpacks the rows that pass keep.
func (s *memSession) events(keep func(memRow) bool) ([]agent.Event, error) {
	var out []agent.Event
	var err error
	for _, r := range s.rows {
		if !keep(r) {
			continue
		}
		if out, err = r.Unpack(out, s.ID); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// numbered gives bodies the numbers after seq.
func numbered(session, turn string, seq int64, bodies ...agent.Body) []agent.Event {
	at := now()
	out := make([]agent.Event, len(bodies))
	for i, b := range bodies {
		out[i] = agent.Event{Session: session, Seq: seq + int64(i) + 1, Turn: turn, Body: b, At: at}
	}
	return out
}
