package sandbox

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	maxKept   = 1 << 20   // bytes of stdout and stderr together
	maxShown  = 256 << 10 // bytes shown while the command runs
	maxPiece  = 8 << 10   // bytes shown at once
	showEvery = 100 * time.Millisecond
)

const notShown = "\n[more output is not shown while it runs]\n"

// output keeps the head of what a command prints, and shows it while it runs.
// What is over its bounds is read and forgotten, so that the command goes on.
type output struct {
	emit    func(string)
	readers sync.WaitGroup
	shower  sync.WaitGroup
	files   [2]*os.File
	wake    chan struct{} // something is to be shown
	done    chan struct{} // nothing more will be
	once    sync.Once

	mu      sync.Mutex
	kept    [2]bytes.Buffer // stdout, stderr
	carry   [2][]byte       // the beginning of a character, not shown yet
	pending []byte
	shown   int // bytes that were made pending
	cut     bool
}

func newOutput(emit func(string)) *output {
	return &output{emit: emit, wake: make(chan struct{}, 1), done: make(chan struct{})}
}

// read begins to read both streams; close waits for their end.
func (o *output) read(stdout, stderr *os.File) {
	o.files = [2]*os.File{stdout, stderr}
	for i, f := range o.files {
		o.readers.Go(func() {
			buf := make([]byte, 32<<10)
			for {
				n, err := f.Read(buf)
				o.add(i, buf[:n])
				if err != nil {
					o.ended(err)
					return
				}
			}
		})
	}
	if o.emit != nil {
		o.shower.Go(o.show)
	}
}

// ended notes whether a stream was left before its end.
func (o *output) ended(err error) {
	if os.IsTimeout(err) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.cut = true
	}
}

func (o *output) add(stream int, b []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	room := maxKept - o.kept[0].Len() - o.kept[1].Len()
	if len(b) > room {
		o.cut = true
	}
	o.kept[stream].Write(b[:min(room, len(b))])
	if o.emit == nil || o.shown > maxShown || len(b) == 0 {
		return
	}
	b = append(o.carry[stream], b...)
	whole := wholeRunes(b)
	o.carry[stream] = bytes.Clone(b[whole:])
	o.pend(b[:whole])
}

// pend hands text to the shower; o.mu is held.
func (o *output) pend(b []byte) {
	if len(b) == 0 || o.shown > maxShown {
		return
	}
	if room := maxShown - o.shown; len(b) > room {
		o.pending = append(append(o.pending, b[:wholeRunes(b[:room])]...), notShown...)
		o.shown = maxShown + 1
	} else {
		o.pending = append(o.pending, b...)
		o.shown += len(b)
	}
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// wholeRunes is how much of b does not end within a character. Bytes that are
// no text count as whole.
func wholeRunes(b []byte) int {
	for i := len(b) - 1; i >= 0 && i >= len(b)-utf8.UTFMax+1; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return i
			}
			break
		}
	}
	return len(b)
}

// show emits what is pending, in pieces and at a pace that a journal can take.
func (o *output) show() {
	for {
		select {
		case <-o.wake:
		case <-o.done:
			for o.piece() {
			}
			return
		}
		more := o.piece()
		pause := time.NewTimer(showEvery)
		select {
		case <-pause.C:
		case <-o.done:
			pause.Stop()
		}
		if more {
			select {
			case o.wake <- struct{}{}:
			default:
			}
		}
	}
}

// piece emits one piece, and reports whether there is more.
func (o *output) piece() bool {
	o.mu.Lock()
	n := len(o.pending)
	if n > maxPiece {
		n = wholeRunes(o.pending[:maxPiece])
	}
	text := string(o.pending[:n])
	o.pending = o.pending[n:]
	more := len(o.pending) > 0
	o.mu.Unlock()
	if text != "" {
		o.emit(text)
	}
	return more
}

// close waits for the streams' end, d at most, and for the last text to be shown.
func (o *output) close(d time.Duration) {
	o.once.Do(func() {
		for _, f := range o.files {
			_ = f.SetReadDeadline(time.Now().Add(d))
		}
		o.readers.Wait()
		for _, f := range o.files {
			f.Close()
		}
		o.mu.Lock()
		if o.emit != nil {
			o.pend(o.carry[0])
			o.pend(o.carry[1])
		}
		o.mu.Unlock()
		close(o.done)
	})
	o.shower.Wait()
}

// text returns what was kept, as text, and whether there was more.
func (o *output) text() (stdout, stderr string, truncated bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var out [2]string
	for i := range o.kept {
		b := o.kept[i].Bytes()
		if o.cut {
			b = b[:wholeRunes(b)]
		}
		out[i] = strings.ToValidUTF8(string(b), "\uFFFD")
	}
	return out[0], out[1], o.cut
}
