package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// listAge is how long a list of tools is believed of a server that has not said
// that it changed: some never say.
const listAge = 5 * time.Minute

// server is an MCP server and the session that there is with it, if any.
type server struct {
	source *Source
	at     place
	used   time.Time    // under the Source's lock
	calls  atomic.Int64 // that run

	// gate is held by one goroutine at a time, the one that opens or replaces
	// link; a channel, since waiting for it ends with a context.
	gate   chan struct{}
	link   *link
	closed bool
}

func newServer(s *Source, at place) *server {
	return &server{source: s, at: at, gate: make(chan struct{}, 1)}
}

// live returns a session that works as far as is known, and opens one where
// there is none.
func (v *server) live(ctx context.Context) (*link, error) {
	select {
	case v.gate <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-v.gate }()
	if v.closed || v.source.ctx.Err() != nil {
		return nil, errClosed
	}
	if v.link != nil && !v.link.lost.Load() {
		return v.link, nil
	}
	if old := v.link; old != nil {
		v.link = nil
		v.source.wg.Go(old.retire)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, connectTimeout, fmt.Errorf("the server did not answer within %v", connectTimeout))
	defer cancel()
	defer context.AfterFunc(v.source.ctx, cancel)()
	l, err := v.open(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to the MCP server: %w", plain(ctx, err))
	}
	v.link = l
	return l, nil
}

// close ends the server for good.
func (v *server) close() {
	v.gate <- struct{}{} // whoever has it is bounded by the Source's context
	defer func() { <-v.gate }()
	v.closed = true
	if v.link != nil {
		v.link.close()
	}
}

// list returns the server's tools; once more over a new session where the
// server has lost the one there was.
func (v *server) list(ctx context.Context) ([]*sdk.Tool, error) {
	for again := false; ; again = true {
		l, err := v.live(ctx)
		if err != nil {
			return nil, err
		}
		tools, err := l.list(ctx)
		if err == nil {
			return tools, nil
		}
		if again || !l.lost.Load() || ctx.Err() != nil {
			return nil, fmt.Errorf("list the MCP server's tools: %w", plain(ctx, err))
		}
	}
}

// call calls a tool. A call that the server refused because it knows the session
// no more is sent again over a new one; no other is.
func (v *server) call(ctx context.Context, name string, arguments []byte, emit func(string)) (*sdk.CallToolResult, error) {
	v.calls.Add(1)
	defer v.calls.Add(-1)
	for again := false; ; again = true {
		l, err := v.live(ctx)
		if err != nil {
			return nil, err
		}
		result, err := l.call(ctx, name, arguments, emit)
		if err == nil {
			return result, nil
		}
		if again || !errors.Is(err, errRefused) {
			return nil, plain(ctx, err)
		}
	}
}
