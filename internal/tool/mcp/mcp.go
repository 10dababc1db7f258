// Package mcp gives agents the tools of MCP servers, over streamable HTTP or,
// where the operator allows it, of commands that speak by standard input and
// output.
//
// A server is known by its configuration. Every session of a project that names
// the same one shares a single client session with it, which is opened when it
// is first needed, opened again when the server has lost it, and closed when
// nobody has used it for a while.
//
// A call that is stopped is answered at once. The server is told so as the
// protocol's revision has it: by notifications/cancelled with a fixed reason, or,
// over HTTP since 2026-07-28, by closing the response stream. Why the call was
// stopped is nobody's business there and never sent.
package mcp

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/tool"
)

const (
	connectTimeout = 10 * time.Second // from nothing to a session and its list
	idleTimeout    = 15 * time.Minute // a server that nobody used for so long is let go
)

// Config is what a Source works with.
type Config struct {
	Client     *http.Client // reaches servers; its Timeout is not used, its Transport and CheckRedirect are
	Secrets    tool.Secrets // nil: a server that wants a secret can't be used
	AllowStdio bool         // commands may be run
	Env        []string     // "NAME=value", what every command gets besides its own
	Log        *slog.Logger
}

// Source implements tool.Source for agent.SourceMCP. It may be used by many
// goroutines; Close ends it.
type Source struct {
	cfg Config
	ctx context.Context // ends when Close begins
	end context.CancelFunc
	wg  sync.WaitGroup // of links, which outlive the call that opened them

	mu      sync.Mutex
	servers map[string]*server
	closed  bool
}

// New returns a Source that has not connected to anything yet.
func New(cfg Config) *Source {
	cfg.Client = cmp.Or(cfg.Client, http.DefaultClient)
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	s := &Source{cfg: cfg, servers: make(map[string]*server)}
	s.ctx, s.end = context.WithCancel(context.Background())
	return s
}

// errClosed answers calls after Close.
var errClosed = errors.New("the node is shutting down")

// Open implements tool.Source. It connects to the server if need be, within
// ctx and ten seconds, and lists its tools, or gives what it knows of them.
func (s *Source) Open(ctx context.Context, session agent.Session, ref agent.ToolRef) ([]agent.Tool, error) {
	if ref.MCP == nil {
		return nil, &agent.FieldError{Field: "mcp", Message: "is required: the server's url or command"}
	}
	if len(ref.MCP.Command) > 0 && !s.cfg.AllowStdio {
		return nil, &agent.FieldError{Field: "mcp.command", Message: "commands are not allowed on this node: its operator allows them with BELAY_MCP_STDIO=on"}
	}
	header, err := s.authorization(ctx, session.Project, ref.MCP.Auth)
	if err != nil {
		return nil, err
	}
	s.sweep()
	at := place{project: session.Project, source: *ref.MCP, header: header}
	server, err := s.server(at)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, connectTimeout, fmt.Errorf("the server did not answer within %v", connectTimeout))
	defer cancel()
	list, err := server.list(ctx)
	if err != nil {
		return nil, err
	}
	return s.pick(at, list, ref.Names)
}

// authorization returns the header that proves who we are, as name and value.
func (s *Source) authorization(ctx context.Context, project string, a *agent.ToolAuth) (header [2]string, err error) {
	if a == nil {
		return header, nil
	}
	if s.cfg.Secrets == nil {
		return header, &agent.FieldError{Field: "mcp.auth.secret", Message: "this node keeps no secrets of tools"}
	}
	secret, err := s.cfg.Secrets.Secret(ctx, project, a.Secret)
	switch {
	case errors.Is(err, agent.ErrNotFound):
		return header, &agent.FieldError{Field: "mcp.auth.secret", Message: fmt.Sprintf("there is no shared tool %q with a secret", a.Secret)}
	case err != nil:
		return header, fmt.Errorf("read the secret %s: %w", a.Secret, err)
	}
	switch a.Type {
	case "basic":
		return [2]string{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte(a.Username+":"+secret))}, nil
	case "header":
		return [2]string{http.CanonicalHeaderKey(a.Header), secret}, nil
	}
	return [2]string{"Authorization", "Bearer " + secret}, nil
}

// place is all that tells one server from another.
type place struct {
	project string
	source  agent.MCPSource
	header  [2]string // name and value of what authorizes us; both empty: nothing
}

func (p place) key() string {
	b, _ := json.Marshal([]any{p.project, p.source, p.header}) // strings only: it can't fail
	return string(b)
}

// server returns the server at a place, a new one where it isn't known.
func (s *Source) server(at place) (*server, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	key := at.key()
	v := s.servers[key]
	if v == nil {
		v = newServer(s, at)
		s.servers[key] = v
	}
	v.used = time.Now()
	return v, nil
}

// sweep lets go of servers that nobody has used for long.
func (s *Source) sweep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	for key, v := range s.servers {
		if v.calls.Load() == 0 && time.Since(v.used) > idleTimeout {
			delete(s.servers, key)
			s.wg.Go(v.close)
		}
	}
}

// Close ends every session and every command, and returns when they are gone.
// Calls that run are stopped as by their context.
func (s *Source) Close() {
	s.mu.Lock()
	s.closed = true
	servers := s.servers
	s.servers = nil
	s.mu.Unlock()
	s.end()
	var closing sync.WaitGroup
	for _, v := range servers {
		closing.Go(v.close)
	}
	closing.Wait()
	s.wg.Wait()
}
