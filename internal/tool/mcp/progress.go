package mcp

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	progressEvery = 100 * time.Millisecond // what comes sooner after another is not shown
	maxProgress   = 1 << 10                // bytes of one message
	allProgress   = 64 << 10               // bytes of all messages of a call
)

// watchers are the calls of a session whose progress somebody watches.
type watchers struct {
	mu    sync.Mutex
	last  int
	calls map[string]*watcher // by progress token
}

// watcher shows the progress of one call.
type watcher struct {
	mu    sync.Mutex
	emit  func(text string) // nil: the call is over
	shown int               // bytes
	at    time.Time
}

// watch returns the token that a call's progress is told by; done must be called
// before the call returns: nothing is shown after it.
func (w *watchers) watch(emit func(string)) (token string, done func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last++
	token = "call-" + strconv.Itoa(w.last)
	if w.calls == nil {
		w.calls = make(map[string]*watcher)
	}
	one := &watcher{emit: emit}
	w.calls[token] = one
	return token, func() {
		w.mu.Lock()
		delete(w.calls, token)
		w.mu.Unlock()
		one.mu.Lock()
		defer one.mu.Unlock()
		one.emit = nil
	}
}

// heard is told of a server's progress notifications: of calls that nobody
// watches, or that there never were, too.
func (w *watchers) heard(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
	token, _ := r.Params.ProgressToken.(string)
	w.mu.Lock()
	one := w.calls[token]
	w.mu.Unlock()
	if one != nil {
		one.show(progressText(r.Params))
	}
}

// show shows a message unless there were too many.
func (w *watcher) show(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.emit == nil || time.Since(w.at) < progressEvery || w.shown+len(text) > allProgress {
		return
	}
	w.at = time.Now()
	w.shown += len(text)
	w.emit(text)
}

// progressText is a line: how far a call is, of how much, and what the server
// says to it.
func progressText(p *sdk.ProgressNotificationParams) string {
	message := p.Message
	if len(message) > maxProgress {
		message = strings.ToValidUTF8(message[:maxProgress], "") + "…"
	}
	far := strconv.FormatFloat(p.Progress, 'g', 6, 64)
	if p.Total > 0 {
		far += "/" + strconv.FormatFloat(p.Total, 'g', 6, 64)
	}
	if message == "" {
		return far + "\n"
	}
	return fmt.Sprintf("%s: %s\n", far, message)
}
