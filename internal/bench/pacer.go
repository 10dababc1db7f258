package bench

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// pacer writes to many calls at an even pace: the interval is cut into slots of
// a millisecond, each call has one of them.
type pacer struct {
	interval time.Duration
	cpu      atomic.Int64

	mu    sync.Mutex
	slots [][]*Call
	next  int
}

func (p *pacer) add(c *Call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slots[p.next] = append(p.slots[p.next], c)
	p.next = (p.next + 1) % len(p.slots)
}

// maxLag is how late the pacer may be and still catch up; what is later is left
// out, and missing in the rate that was sent.
const maxLag = 500 * time.Millisecond

// Run writes the streams until ctx ends. It keeps a thread to itself, so that
// what the model costs can be told from what the clients cost.
func (m *Model) Run(ctx context.Context) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p := &m.pacer
	step := p.interval / time.Duration(len(p.slots))
	timer := time.NewTimer(0)
	defer timer.Stop()
	due := time.Now()
	for slot := 0; ; slot = (slot + 1) % len(p.slots) {
		due = due.Add(step)
		wait := time.Until(due)
		if wait < -maxLag {
			due = time.Now()
		}
		if wait > 0 || ctx.Err() != nil {
			timer.Reset(wait)
			select {
			case <-timer.C:
			case <-ctx.Done():
				return
			}
		}
		p.write(slot)
		p.cpu.Store(int64(threadCPU()))
	}
}

// write sends a chunk to every call of a slot and forgets those that have ended.
func (p *pacer) write(slot int) {
	p.mu.Lock()
	calls := p.slots[slot]
	p.mu.Unlock()
	ended := 0
	for _, c := range calls {
		if !c.write() {
			ended++
		}
	}
	if ended == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := make([]*Call, 0, len(p.slots[slot]))
	for _, c := range p.slots[slot] {
		if !c.ended() {
			kept = append(kept, c)
		}
	}
	p.slots[slot] = kept
}

func (c *Call) ended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gone
}
