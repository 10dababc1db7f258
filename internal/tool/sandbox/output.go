package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/belayrun/belay/internal/agent"
)

const (
	maxWhole  = 1 << 20                    // bytes of stdout and stderr together that are not truncated
	maxHead   = agent.MaxToolOutput - 2000 // bytes of JSON that a model reads of both, notes included
	maxShown  = 256 << 10                  // bytes shown while the command runs
	readSize  = 128 << 10                  // bytes of a flood that are read at once: fewer steps, each of which the runtime traces
	maxPiece  = 8 << 10                    // bytes shown at once
	showEvery = 100 * time.Millisecond
)

const notShown = "\n[more output is not shown while it runs]\n"

// output keeps the head of what a command prints, and shows it while it runs.
// What is over its bounds is read and forgotten, so that the command goes on: a
// flood costs no more memory than what a model will read of it.
type output struct {
	emit    func(string)
	readers sync.WaitGroup
	shower  sync.WaitGroup
	files   [2]*os.File
	wake    chan struct{} // something is to be shown
	done    chan struct{} // nothing more will be
	once    sync.Once

	mu      sync.Mutex
	kept    [2]bytes.Buffer // stdout, stderr; each no more than can be read
	printed [2]int          // bytes, kept or not
	carry   [2][]byte       // the beginning of a character, not shown yet
	pending [][]byte        // pieces that are to be shown
	shown   int             // bytes that were made pending
	left    bool            // a stream was left before its end
}

func newOutput(emit func(string)) *output {
	return &output{emit: emit, wake: make(chan struct{}, 1), done: make(chan struct{})}
}

// read begins to read both streams; close waits for their end.
func (o *output) read(stdout, stderr *os.File) {
	o.files = [2]*os.File{stdout, stderr}
	for i, f := range o.files {
		widen(f, readSize)
		o.readers.Go(func() {
			buf := make([]byte, readSize/8)
			for {
				n, err := f.Read(buf)
				o.add(i, buf[:n])
				if n == len(buf) && n < readSize {
					buf = make([]byte, readSize)
				}
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
		o.left = true
	}
}

func (o *output) add(stream int, b []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.printed[stream] += len(b)
	o.kept[stream].Write(b[:min(maxHead-o.kept[stream].Len(), len(b))])
	if o.emit == nil || o.shown > maxShown || len(b) == 0 {
		return
	}
	if len(o.carry[stream]) > 0 {
		b = append(o.carry[stream], b...)
	}
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
		o.queue(b[:wholeRunes(b[:room])])
		o.queue([]byte(notShown))
		o.shown = maxShown + 1
	} else {
		o.queue(b)
		o.shown += len(b)
	}
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// queue copies text into pieces; o.mu is held.
func (o *output) queue(b []byte) {
	for len(b) > 0 {
		last := len(o.pending) - 1
		if last < 0 || len(o.pending[last])+utf8.UTFMax > maxPiece {
			o.pending, last = append(o.pending, make([]byte, 0, maxPiece)), last+1
		}
		n := min(maxPiece-len(o.pending[last]), len(b))
		if n < len(b) {
			if whole := wholeRunes(b[:n]); whole > 0 {
				n = whole
			}
		}
		o.pending[last] = append(o.pending[last], b[:n]...)
		b = b[n:]
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
	var text string
	if len(o.pending) > 0 {
		text = string(o.pending[0])
		o.pending[0] = nil
		o.pending = o.pending[1:]
	}
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

// text returns the head of both streams, as much as a model can read of them in
// JSON, each with a note of how much more there was; and whether both together
// were more than maxWhole, or were left before their end.
func (o *output) text() (stdout, stderr string, truncated bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	out, errs := o.kept[0].Bytes(), o.kept[1].Bytes()
	_, cost := within(out, maxHead)
	e, spent := within(errs, max(maxHead/2, maxHead-cost))
	n, _ := within(out, maxHead-spent)
	return o.head(0, n), o.head(1, e), o.left || o.printed[0]+o.printed[1] > maxWhole
}

// head is the beginning of a stream, with a note of what follows it.
func (o *output) head(stream, n int) string {
	b := o.kept[stream].Bytes()[:n]
	more := o.printed[stream] - n
	if more > 0 || o.left {
		b = b[:wholeRunes(b)]
	}
	text := strings.ToValidUTF8(string(b), "\uFFFD")
	if more == 0 {
		return text
	}
	return fmt.Sprintf("%s\n[%d more bytes are not shown]", text, o.printed[stream]-len(b))
}

// within returns how many bytes of a text make no more than limit in JSON, and
// how many they make.
func within(b []byte, limit int) (n, cost int) {
	for n < len(b) {
		r, size := utf8.DecodeRune(b[n:])
		one := size
		switch {
		case r == utf8.RuneError && size == 1:
			one = len("\uFFFD")
		case r == '"' || r == '\\' || r == '\n' || r == '\r' || r == '\t':
			one = len(`\n`)
		case r < ' ' || r == '<' || r == '>' || r == '&' || r == 0x7f || r == '\u2028' || r == '\u2029':
			one = len(`\u0000`)
		}
		if cost+one > limit {
			break
		}
		n, cost = n+size, cost+one
	}
	return n, cost
}
