package pgtest

import (
	"context"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Proxy stands between a test's client and Postgres, and takes the network
// between them away. Its methods may be called from any goroutine.
type Proxy struct {
	url           string
	network, addr string // of Postgres
	listener      net.Listener
	running       sync.WaitGroup

	mu      sync.Mutex
	mode    mode
	changed chan struct{} // closed, and replaced, when mode changes
	links   map[*link]struct{}
}

type mode int

const (
	passing mode = iota
	hanging
	refusing
)

// dialTimeout bounds the proxy's own way to Postgres.
const dialTimeout = 10 * time.Second

// NewProxy returns a proxy in front of the Postgres at raw, a URL as DB and
// pgserver give them. It ends with the test, with every connection through it.
func NewProxy(t testing.TB, raw string) *Proxy {
	t.Helper()
	p, err := newProxy(t.Context(), raw)
	if err != nil {
		t.Fatal("pgtest: proxy: ", err)
	}
	p.running.Go(p.accept)
	t.Cleanup(func() {
		p.listener.Close()
		p.Cut()
		p.running.Wait()
	})
	return p
}

func newProxy(ctx context.Context, raw string) (*Proxy, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, err
	}
	cfg, err := pgconn.ParseConfig(raw)
	if err != nil {
		return nil, err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	q := u.Query()
	q.Del("host")
	q.Del("port")
	if !q.Has("sslmode") {
		q.Set("sslmode", "disable")
	}
	u.Host, u.RawQuery = l.Addr().String(), q.Encode()
	p := &Proxy{url: u.String(), listener: l, changed: make(chan struct{}), links: map[*link]struct{}{}}
	p.network, p.addr = pgconn.NetworkAddress(cfg.Host, cfg.Port)
	return p, nil
}

// URL is the same database through the proxy.
func (p *Proxy) URL() string { return p.url }

// Cut drops every connection, and drops each new one as soon as it is made,
// until Restore. When it returns the old ones are closed on both sides.
func (p *Proxy) Cut() {
	p.set(refusing)
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.close()
	}
}

// Hang lets nothing through in either direction, not even the end of a
// connection, until Restore: to the client the database is a black hole that
// still takes connections and bytes. What was sent meanwhile then arrives late,
// as over a network that lost its packets for a while.
func (p *Proxy) Hang() { p.set(hanging) }

// Restore ends Cut and Hang.
func (p *Proxy) Restore() { p.set(passing) }

// Connections is the number of connections through the proxy, hung ones too.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

func (p *Proxy) set(m mode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = m
	close(p.changed)
	p.changed = make(chan struct{})
}

// pass waits while the proxy hangs; false: it is cut, or the link is closed.
func (p *Proxy) pass(ctx context.Context) bool {
	for {
		p.mu.Lock()
		m, changed := p.mode, p.changed
		p.mu.Unlock()
		if ctx.Err() != nil {
			return false
		}
		if m != hanging {
			return m == passing
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		ctx, cancel := context.WithCancel(context.Background())
		l := &link{ctx: ctx, cancel: cancel, client: client}
		if !p.add(l) {
			l.close()
			continue
		}
		p.running.Go(func() {
			defer p.remove(l)
			p.serve(l)
		})
	}
}

func (p *Proxy) add(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mode == refusing {
		return false
	}
	p.links[l] = struct{}{}
	return true
}

func (p *Proxy) remove(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.close()
	delete(p.links, l)
}

// serve connects a link to Postgres and copies until one side ends it.
func (p *Proxy) serve(l *link) {
	if !p.pass(l.ctx) {
		return
	}
	d := net.Dialer{Timeout: dialTimeout}
	server, err := d.DialContext(l.ctx, p.network, p.addr)
	if err != nil || !l.join(server) {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { p.copy(l, server, l.client) })
	both.Go(func() { p.copy(l, l.client, server) })
	both.Wait()
}

// copy ends the link when its source ends, but not while the proxy hangs.
func (p *Proxy) copy(l *link, to, from net.Conn) {
	defer l.close()
	buf := make([]byte, 32<<10)
	for {
		n, readErr := from.Read(buf)
		if !p.pass(l.ctx) {
			return
		}
		if _, err := to.Write(buf[:n]); err != nil || readErr != nil {
			return
		}
	}
}

// link is one connection through the proxy.
type link struct {
	ctx    context.Context // ends with the link
	cancel context.CancelFunc
	client net.Conn

	mu     sync.Mutex
	server net.Conn // nil before it is reached
}

// join gives the link its other side; false: it was closed meanwhile.
func (l *link) join(server net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil {
		server.Close()
		return false
	}
	l.server = server
	return true
}

// close ends both sides with a reset, as when a host goes away: what was in
// flight is lost.
func (l *link) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancel()
	for _, c := range []net.Conn{l.client, l.server} {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // fails when it is closed already
		}
		if c != nil {
			c.Close()
		}
	}
}
