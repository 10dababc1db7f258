// Package outbound is the one way out to addresses that a caller or a document
// supplied: it connects to public addresses only, and to what the operator
// allowed by name.
//
// What is checked is the address that a connection is about to be made to, not
// the one that a name had a moment earlier, so a name that changes its address
// gains nothing; each redirect makes, and checks, its own connection.
package outbound

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// ErrRefused: an address is not one that may be reached. What wraps it names the
// host and says why, and may be shown to the caller.
var ErrRefused = errors.New("the address is not allowed")

const (
	maxRedirects   = 5
	maxHeaderBytes = 64 << 10
	handshakeLimit = 10 * time.Second
	idleLimit      = 90 * time.Second
)

// Config says what may be reached besides public addresses.
type Config struct {
	// Allow holds host names, IP addresses and CIDRs. A name allows whatever
	// address it has; an address or CIDR allows whatever name leads there.
	Allow []string
	// Resolver looks names up; nil is the system's.
	Resolver *net.Resolver
	// DialTimeout bounds one connection with its name lookup; 0 is 10 s.
	DialTimeout time.Duration
}

// Guard makes guarded connections. It is safe for concurrent use.
type Guard struct {
	hosts     map[string]bool
	prefixes  []netip.Prefix
	resolver  *net.Resolver
	free      net.Dialer // for hosts that are allowed by name
	checked   net.Dialer
	transport *http.Transport
}

// New makes a Guard; an entry of Allow that is neither a host name nor an
// address nor a CIDR is an error. It starts nothing.
func New(c Config) (*Guard, error) {
	g := &Guard{hosts: map[string]bool{}, resolver: c.Resolver}
	for _, entry := range c.Allow {
		if err := g.allow(entry); err != nil {
			return nil, err
		}
	}
	if g.resolver == nil {
		g.resolver = net.DefaultResolver
	}
	g.free = net.Dialer{Timeout: cmp.Or(c.DialTimeout, handshakeLimit), Resolver: g.resolver}
	g.checked = g.free
	g.checked.ControlContext = g.control
	g.transport = &http.Transport{
		DialContext:            g.DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           100,
		MaxIdleConnsPerHost:    8,
		IdleConnTimeout:        idleLimit,
		TLSHandshakeTimeout:    handshakeLimit,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: maxHeaderBytes,
		// Proxy stays nil: a proxy would connect for us, and unguarded.
	}
	return g, nil
}

func (g *Guard) allow(entry string) error {
	entry = strings.TrimSpace(entry)
	if p, err := netip.ParsePrefix(entry); err == nil {
		g.prefixes = append(g.prefixes, p.Masked())
		return nil
	}
	if a, err := netip.ParseAddr(strings.Trim(entry, "[]")); err == nil {
		a = a.Unmap().WithZone("")
		g.prefixes = append(g.prefixes, netip.PrefixFrom(a, a.BitLen()))
		return nil
	}
	if entry == "" || strings.ContainsAny(entry, "/:*@ ") || numeric(entry) {
		return fmt.Errorf("%q is no host name, IP address or CIDR", entry)
	}
	g.hosts[plainHost(entry)] = true
	return nil
}

// Transport returns the Guard's transport, one for all callers: http and https,
// no proxy, bounded response headers, connections through DialContext. Whoever
// wants other settings clones it. A client of one's own follows redirects as it
// likes: each hop's address is checked, but headers are its own affair.
func (g *Guard) Transport() *http.Transport { return g.transport }

// Client returns a client on Transport. A request takes at most timeout with its
// redirects and body, 0: as long as its context. It follows five redirects; one
// to another origin, and all after it, lose every header that could prove who
// asks.
func (g *Guard) Client(timeout time.Duration) *http.Client {
	return &http.Client{Transport: g.transport, Timeout: timeout, CheckRedirect: checkRedirect}
}

// DialContext connects to host:port; the error wraps ErrRefused where the
// address may not be reached.
func (g *Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if g.hosts[plainHost(host)] {
		return g.free.DialContext(ctx, network, address)
	}
	if err := refuseNumeric(host); err != nil {
		return nil, err
	}
	conn, err := g.checked.DialContext(ctx, network, address)
	if errors.Is(err, ErrRefused) {
		return nil, fmt.Errorf("%s: %w", host, unwrapRefused(err))
	}
	return conn, err
}

// CheckURL says whether a URL could be reached as things are: http or https, a
// host, and no address that would be refused. A name that does not resolve
// passes. It is for telling a caller early; what counts is the check of each
// connection.
func (g *Guard) CheckURL(ctx context.Context, raw string) error {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return errors.New("must be an http or https URL")
	}
	host := u.Hostname()
	if g.hosts[plainHost(host)] {
		return nil
	}
	if err := refuseNumeric(host); err != nil {
		return err
	}
	addrs, err := g.resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return ctx.Err()
	}
	for _, a := range addrs {
		if err := g.check(a); err != nil {
			return fmt.Errorf("%s: %w", host, err)
		}
	}
	return nil
}

// control is called with each address that a dialer is about to connect to.
func (g *Guard) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return &refusal{"not an IP address"}
	}
	return g.check(at.Addr())
}

func (g *Guard) check(a netip.Addr) error {
	a = a.Unmap().WithZone("")
	for _, p := range g.prefixes {
		if p.Contains(a) {
			return nil
		}
	}
	if why := refusedAs(a); why != "" {
		return &refusal{why}
	}
	return nil
}

// refusal is an ErrRefused with its reason. It does not tell the address: what a
// private name resolves to is not the caller's to know.
type refusal struct{ why string }

func (r *refusal) Error() string { return ErrRefused.Error() + ": " + r.why }
func (r *refusal) Unwrap() error { return ErrRefused }

func unwrapRefused(err error) error {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r
	}
	return ErrRefused
}

// refuseNumeric refuses 2130706433, 0x7f.1 and 0177.0.0.1, which some resolvers
// take for addresses.
func refuseNumeric(host string) error {
	if _, err := netip.ParseAddr(host); err != nil && numeric(host) {
		return fmt.Errorf("%s: %w", host, &refusal{"an IP address is written as four decimal numbers"})
	}
	return nil
}

// numeric reports whether the last label of a host is a number, which no name's
// is.
func numeric(host string) bool {
	host = strings.TrimSuffix(host, ".")
	last := host[strings.LastIndexByte(host, '.')+1:]
	if rest, ok := strings.CutPrefix(strings.ToLower(last), "0x"); ok {
		return strings.Trim(rest, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}

func plainHost(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

// keptHeaders are what a request to another origin still carries.
var keptHeaders = []string{"Accept", "Accept-Language", "Content-Type", "Content-Length", "User-Agent"}

func checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("stopped after %d redirects", maxRedirects)
	}
	for _, hop := range append(via[1:len(via):len(via)], req) {
		if origin(hop.URL) != origin(via[0].URL) {
			keepHeaders(req)
			break
		}
	}
	return nil
}

func keepHeaders(req *http.Request) {
	kept := http.Header{}
	for _, name := range keptHeaders {
		if v := req.Header.Values(name); len(v) > 0 {
			kept[name] = v
		}
	}
	req.Header = kept
}

func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(plainHost(u.Hostname()), port)
}
