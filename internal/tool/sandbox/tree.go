package sandbox

import (
	"fmt"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/belayrun/belay/internal/agent"
)

const (
	grace     = 200 * time.Millisecond  // between TERM and KILL
	deathWait = 1500 * time.Millisecond // after KILL, until it is unconfirmed
)

// tree is all that a command has started. Its methods may be called from many
// goroutines.
//
// A process belongs to it that has the tag in its environment, that descends
// from one that does, or that is in the leader's session or group; and one that
// once did, whatever became of its parents. The leader must not be reaped while
// the tree is in use.
type tree struct {
	tag      string
	leader   identity // bwrap, or the command itself
	confined bool
	since    uint64 // no process that began before is looked at

	mu   sync.Mutex
	init identity // the first process of the PID namespace; zero: not told yet
	seen map[identity]bool
}

func newTree(tag string, leader identity, confined bool) *tree {
	return &tree{tag: tag, leader: leader, confined: confined, since: leader.Start, seen: map[identity]bool{}}
}

// setInit tells the tree which process its PID namespace lives and dies with.
func (t *tree) setInit(id identity) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.init = id
}

func (t *tree) initID() identity {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.init
}

// members returns the tree's processes that are alive. An error means that
// there may be more.
func (t *tree) members() ([]proc, error) {
	all, unread, err := processes()
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	mine := map[int]bool{}
	var rest []proc
	for _, p := range all {
		switch {
		case p.start < t.since:
		case t.near(p):
			mine[p.pid] = true
		default:
			rest = append(rest, p)
		}
	}
	rest = t.descend(mine, rest)
	for _, p := range rest {
		ok, err := hasTag(p.pid, t.tag)
		switch {
		case ok:
			mine[p.pid] = true
		case err != nil && !gone(err) && !p.dead() && !t.confined && ownedBy(p.pid, syscall.Geteuid()):
			unread++ // in a PID namespace its init's death tells more than that
		}
	}
	t.descend(mine, rest)
	var out []proc
	for _, p := range all {
		if !mine[p.pid] {
			continue
		}
		t.seen[p.identity()] = true
		if !p.dead() {
			out = append(out, p)
		}
	}
	if unread > 0 {
		return out, fmt.Errorf("%d processes could not be read", unread)
	}
	return out, nil
}

// near reports whether a process can be known for a member by itself.
func (t *tree) near(p proc) bool {
	if t.seen[p.identity()] || p.is(t.leader) || p.is(t.init) {
		return true
	}
	return t.leader.PID > 0 && (p.session == t.leader.PID || p.pgrp == t.leader.PID)
}

// descend adds what descends from members, and returns what does not.
func (t *tree) descend(mine map[int]bool, rest []proc) []proc {
	for {
		n := len(rest)
		rest = slices.DeleteFunc(rest, func(p proc) bool {
			if mine[p.pid] || mine[p.ppid] {
				mine[p.pid] = true
				return true
			}
			return false
		})
		if len(rest) == n {
			return rest
		}
	}
}

// term asks the command's processes to end, and returns how many were told.
// bwrap and the namespace's init are spared: they would take the others down
// before those could tidy up.
func (t *tree) term() (told int) {
	init := t.initID()
	if t.confined && init.PID == 0 {
		return 0
	}
	list, _ := t.members() // what can't be read is not asked; end goes on to kill
	for _, p := range list {
		if t.confined && (p.is(t.leader) || p.is(init)) {
			continue
		}
		if send(p.identity(), syscall.SIGTERM) == nil {
			told++
		}
		_ = send(p.identity(), syscall.SIGCONT) // a stopped process hears nothing else
	}
	return told
}

// strike ends the PID namespace, and waits a moment until the kernel has ended
// all that is in it: its init is dead after the others.
func (t *tree) strike() {
	init := t.initID()
	if init.PID == 0 {
		return
	}
	_ = send(init, syscall.SIGKILL)
	for end := time.Now().Add(grace); time.Now().Before(end); time.Sleep(500 * time.Microsecond) {
		if p, err := readProc(init.PID); err != nil || !p.is(init) || p.dead() {
			return
		}
	}
}

// settled reports whether nothing of the tree is left but what spared names.
func (t *tree) settled(spared ...identity) bool {
	list, err := t.members()
	return err == nil && !slices.ContainsFunc(list, func(p proc) bool { return !slices.Contains(spared, p.identity()) })
}

// end kills the tree until it is proven gone; an error wraps
// agent.ErrUnconfirmed. With polite its processes are asked first; told is how
// many of them were.
func (t *tree) end(polite bool) (told int, err error) {
	if polite {
		told = t.term()
		spared := []identity{}
		if t.confined {
			spared = append(spared, t.leader, t.initID())
		}
		for end := time.Now().Add(grace); time.Now().Before(end) && !t.settled(spared...); {
			time.Sleep(5 * time.Millisecond)
		}
	}
	t.strike()
	pause := time.Millisecond
	for end := time.Now().Add(deathWait); ; pause = min(2*pause, 20*time.Millisecond) {
		list, err := t.members()
		// Outside of a PID namespace a process may begin while another is looked
		// at, so it is looked at twice.
		if err == nil && len(list) == 0 && (t.confined || t.settled()) {
			return told, nil
		}
		for _, p := range list {
			_ = send(p.identity(), syscall.SIGKILL)
		}
		if time.Now().After(end) {
			return told, t.unconfirmed()
		}
		time.Sleep(pause)
	}
}

func (t *tree) unconfirmed() error {
	list, err := t.members()
	if err != nil {
		return fmt.Errorf("%w: %w", agent.ErrUnconfirmed, err)
	}
	return fmt.Errorf("%w: %d processes of the command do not end", agent.ErrUnconfirmed, len(list))
}
