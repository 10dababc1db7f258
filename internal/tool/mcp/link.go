package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// writeGrace is how long a call that was stopped may take to return: it does
	// so at once, unless the server does not take what is written to it.
	writeGrace = 250 * time.Millisecond
	// lastWords bounds what is said to a server at a session's end.
	lastWords = time.Second
)

// errRefused: the server did not look at the call, since it has lost the session.
var errRefused = errors.New("the MCP server has lost the session")

// link is one client session with a server. It is never reopened.
type link struct {
	source  *Source
	session *sdk.ClientSession
	carrier carrier

	calls context.Context // ends when the calls must
	stop  context.CancelFunc
	lost  atomic.Bool  // the session has ended, or the server knows it no more
	owed  atomic.Int64 // cancellations that the SDK sends behind our back, not yet seen on the wire

	mu      sync.Mutex
	closing bool
	running sync.WaitGroup // calls; none begins once closing
	once    sync.Once

	watchers watchers // of calls' progress

	listing chan struct{} // held by who asks for the list
	changes atomic.Int64  // that the server has told of
	tools   []*sdk.Tool
	listed  time.Time // zero: never
	as      int64     // changes, when the list was asked for
}

// carrier is what a session runs over.
type carrier interface {
	transport() sdk.Transport
	// end takes it away, with all that was begun over it, and returns when it is
	// gone.
	end()
}

// open opens a session and watches it to its end.
func (v *server) open(ctx context.Context) (*link, error) {
	l := &link{source: v.source, listing: make(chan struct{}, 1)}
	l.calls, l.stop = context.WithCancel(context.Background())
	if err := l.carry(v.at); err != nil {
		l.stop()
		return nil, err
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "belay", Version: "1"}, &sdk.ClientOptions{
		Capabilities:           &sdk.ClientCapabilities{},
		MultiRoundTrip:         &sdk.MultiRoundTripOptions{Disabled: true}, // nobody is here to answer
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { l.changes.Add(1) },

		ProgressNotificationHandler: l.watchers.heard,
	})
	session, err := connect(ctx, client, l.carrier)
	if err != nil {
		l.stop()
		return nil, err
	}
	l.session = session
	v.source.wg.Go(func() {
		_ = session.Wait() // why it ended is told to the calls
		l.lost.Store(true)
		l.close()
	})
	return l, nil
}

func (l *link) carry(at place) (err error) {
	if len(at.source.Command) > 0 {
		l.carrier, err = start(at.source, l)
		return err
	}
	l.carrier, err = newWire(at, l)
	return err
}

// connect is bounded by ctx even where the SDK is held up by a write.
func connect(ctx context.Context, client *sdk.Client, c carrier) (*sdk.ClientSession, error) {
	type answer struct {
		session *sdk.ClientSession
		err     error
	}
	done := make(chan answer, 1)
	inner, cancel := context.WithCancel(context.Background()) // the session must not keep what ctx holds
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	go func() {
		session, err := client.Connect(&request{Context: inner}, c.transport(), nil)
		done <- answer{session, err}
	}()
	var a answer
	select {
	case a = <-done:
	case <-ctx.Done():
		c.end()
		a = <-done
	}
	if a.err == nil && ctx.Err() != nil {
		a.err = context.Cause(ctx)
		_ = a.session.Close()
	}
	if a.err != nil {
		c.end()
		if p, ok := c.(*process); ok {
			a.err = p.explain(a.err)
		}
		return nil, a.err
	}
	return a.session, nil
}

// list returns the tools, from memory where the server has not said that they
// changed.
func (l *link) list(ctx context.Context) ([]*sdk.Tool, error) {
	select {
	case l.listing <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-l.listing }()
	now := l.changes.Load()
	if !l.listed.IsZero() && l.as == now && time.Since(l.listed) < listAge {
		return l.tools, nil
	}
	inner, done, err := l.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var tools []*sdk.Tool
	for t, err := range l.session.Tools(inner, nil) {
		if err != nil {
			l.owe(inner)
			return nil, err
		}
		tools = append(tools, t)
	}
	l.tools, l.listed, l.as = tools, time.Now(), now
	return tools, nil
}

// begin makes the context of a request and counts it; done must be called. The
// context ends as ctx and the link do, and knows nothing of why.
func (l *link) begin(ctx context.Context) (inner *request, done func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return nil, nil, errRefused
	}
	l.running.Add(1)
	plain, cancel := context.WithCancel(context.WithoutCancel(ctx))
	caller, link := context.AfterFunc(ctx, cancel), context.AfterFunc(l.calls, cancel)
	return &request{Context: plain}, func() {
		caller()
		link()
		cancel()
		l.running.Done()
	}, nil
}

// call calls a tool and returns soon after ctx has ended, whatever the server
// does. What the server tells of its progress is given to emit; nil: nobody asks.
func (l *link) call(ctx context.Context, name string, arguments []byte, emit func(string)) (*sdk.CallToolResult, error) {
	inner, done, err := l.begin(ctx)
	if err != nil {
		return nil, err
	}
	type answer struct {
		result *sdk.CallToolResult
		err    error
	}
	answers := make(chan answer, 1)
	params := &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)}
	if emit != nil {
		token, over := l.watchers.watch(emit)
		defer over()
		params.SetProgressToken(token)
	}
	go func() {
		defer done()
		result, err := l.session.CallTool(inner, params)
		if err != nil {
			l.owe(inner)
		}
		answers <- answer{result, err}
	}()
	var a answer
	select {
	case a = <-answers:
	case <-inner.Done():
		grace := time.NewTimer(writeGrace)
		defer grace.Stop()
		select {
		case a = <-answers:
		case <-grace.C:
			l.abandon()
			return nil, errors.New(reason)
		}
	}
	if unsent(a.err) {
		l.lost.Store(true) // before who watches the session has seen its end
	}
	if a.err != nil && inner.refused.Load() || unsent(a.err) {
		return nil, fmt.Errorf("%w: %w", errRefused, a.err)
	}
	return a.result, a.err
}

// unsent reports whether a call failed before it was written: the connection had
// closed. The SDK says so in words only; of a call that was under way it says
// something else.
func unsent(err error) bool {
	return errors.Is(err, sdk.ErrConnectionClosed) && strings.Contains(err.Error(), "client is closing")
}

// owe counts a request that failed as one that the server is told of, if it was
// stopped.
func (l *link) owe(r *request) {
	if r.Err() != nil {
		l.owed.Add(1)
	}
}

// abandon gives up a session whose server takes nothing any more; who watches it
// sees its end and closes it.
func (l *link) abandon() {
	l.lost.Store(true)
	if p, ok := l.carrier.(*process); ok {
		p.hangUp()
	}
}

// retire closes a link that has another in its place, once the calls that still
// run have ended: they may get their answers yet.
func (l *link) retire() {
	l.mu.Lock()
	l.closing = true
	l.mu.Unlock()
	idle := make(chan struct{})
	go func() {
		l.running.Wait()
		close(idle)
	}()
	select {
	case <-idle:
	case <-l.source.ctx.Done():
	}
	l.close()
	<-idle
}

// close ends the calls, says goodbye and takes the carrier away. It returns when
// nothing of the link is left; it may be called more than once.
func (l *link) close() {
	l.once.Do(func() {
		l.lost.Store(true)
		l.mu.Lock()
		l.closing = true
		l.mu.Unlock()
		l.stop()
		bye := make(chan struct{})
		go func() {
			defer close(bye)
			l.running.Wait()
			l.settle()
			_ = l.session.Close() // it is over either way
		}()
		last := time.NewTimer(lastWords)
		defer last.Stop()
		select {
		case <-bye:
		case <-last.C:
		}
		l.carrier.end()
		<-bye
	})
}

// settle waits, a moment at most, until the server was told of the calls that
// were stopped: the SDK does so in goroutines that nobody can wait for.
func (l *link) settle() {
	for end := time.Now().Add(lastWords / 2); l.owed.Load() > 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

// reason is all that a server learns of why a call was stopped.
const reason = "the call was stopped"

// request is the context of one request. Its Err is what the SDK gives a server
// as the reason of a cancellation.
type request struct {
	context.Context
	refused atomic.Bool // the server did not look at it
}

type requestKey struct{}

// Value implements context.Context.
func (r *request) Value(key any) any {
	if key == (requestKey{}) {
		return r
	}
	return r.Context.Value(key)
}

// Err implements context.Context.
func (r *request) Err() error {
	if r.Context.Err() != nil {
		return stopped{}
	}
	return nil
}

type stopped struct{}

func (stopped) Error() string        { return reason }
func (stopped) Is(target error) bool { return target == context.Canceled }

// plain is what a model and a user may read of an error: why ctx ended where it
// did, and no address of a server, which may hold what isn't theirs to see.
func plain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("the server can't be reached: %w", u.Err)
	}
	return err
}
