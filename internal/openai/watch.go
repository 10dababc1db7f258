package openai

import (
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// A watch calls expired once no byte has come for a limit. Noting a byte costs
// a clock reading: the timer is not moved, it looks when it fires.
type watch struct {
	start   time.Time
	last    atomic.Int64 // when a byte came last, since start
	expired func()

	mu    sync.Mutex
	limit time.Duration
	timer *time.Timer // nil: stopped
}

func newWatch(limit time.Duration, expired func()) *watch {
	w := &watch{start: time.Now(), limit: limit, expired: expired}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(limit, w.look)
	return w
}

func (w *watch) note() { w.last.Store(int64(time.Since(w.start))) }

func (w *watch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer == nil {
		return
	}
	left := w.limit - (time.Since(w.start) - time.Duration(w.last.Load()))
	if left > 0 {
		w.timer.Reset(left)
		return
	}
	w.timer = nil
	w.expired()
}

// narrow starts the count again, with a limit of at most d.
func (w *watch) narrow(d time.Duration) {
	w.note()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.limit = min(w.limit, d)
	if w.timer != nil {
		w.timer.Reset(w.limit)
	}
}

func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}

// watchedBody notes every byte of a response.
type watchedBody struct {
	io.ReadCloser
	watch *watch
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.watch.note()
	}
	return n, err
}
