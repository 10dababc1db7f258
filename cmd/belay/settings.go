package main

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/belayrun/belay/internal/access"
	"github.com/belayrun/belay/internal/httpapi/studio"
	"github.com/belayrun/belay/internal/outbound"
)

// settings are what a node is told from outside, by flags and environment; a
// flag wins over its variable.
type settings struct {
	DatabaseURL   string
	Addr          string
	Node          string
	SecretKey     string // base64 keys, comma-separated: the first seals, all open
	Push          string
	LogLevel      string
	OutboundAllow string
	MCPStdio      string
	Sandbox       string // bwrap, unconfined or off
	SandboxDir    string // of workspaces; empty: see sandboxDir
	Runs          string // background runs at once on this node
	ProjectRuns   string // queued and running of a project
	ProjectActive string // running of a project at once, 0: no bound
	Ping          string // silence after which a stream gets a comment, a duration
	Proxies       string // CIDRs of balancers whose X-Forwarded-For is believed

	Retain        retain // how long things are kept
	CallbackDelay string // between attempts of a callback, durations, comma-separated; empty: the default

	hint *studio.Hint // a demo's sign-in, that its page is filled in with; nil: none
}

func (s *settings) database(c *cobra.Command) {
	c.Flags().StringVar(&s.DatabaseURL, "database-url", os.Getenv("BELAY_DATABASE_URL"), "Postgres connection string (BELAY_DATABASE_URL)")
}

func (s *settings) secrets(c *cobra.Command) {
	// Not a flag: it would be seen by everybody who can list processes.
	s.SecretKey = os.Getenv("BELAY_SECRET_KEY")
}

func (s *settings) serving(c *cobra.Command, addr string) {
	host, _ := os.Hostname()
	f := c.Flags()
	f.StringVar(&s.Addr, "addr", cmp.Or(os.Getenv("BELAY_ADDR"), addr), "address to listen on (BELAY_ADDR)")
	f.StringVar(&s.Node, "node", cmp.Or(os.Getenv("BELAY_NODE"), host, "node"), "name of this node (BELAY_NODE)")
	f.StringVar(&s.Push, "push", cmp.Or(os.Getenv("BELAY_PUSH"), "on"), "on or off: off never uses LISTEN and NOTIFY (BELAY_PUSH)")
	f.StringVar(&s.LogLevel, "log-level", cmp.Or(os.Getenv("BELAY_LOG_LEVEL"), "info"), "debug, info, warn or error (BELAY_LOG_LEVEL)")
	f.StringVar(&s.Ping, "ping", cmp.Or(os.Getenv("BELAY_PING"), "15s"), "how long a stream is silent before it gets a comment; less than any proxy's idle timeout (BELAY_PING)")
	f.StringVar(&s.MCPStdio, "mcp-stdio", cmp.Or(os.Getenv("BELAY_MCP_STDIO"), "off"), "on or off: on lets agents name commands that this node runs as MCP servers (BELAY_MCP_STDIO)")
	f.StringVar(&s.Proxies, "trusted-proxies", os.Getenv("BELAY_TRUSTED_PROXIES"), "addresses and CIDRs, comma-separated, of balancers whose X-Forwarded-For says where a caller is (BELAY_TRUSTED_PROXIES)")
	f.StringVar(&s.CallbackDelay, "callback-delays", os.Getenv("BELAY_CALLBACK_DELAYS"), "pauses between attempts of a callback, comma-separated, default 5s to 6h in nine steps (BELAY_CALLBACK_DELAYS)")
	s.Retain.flags(c)
	f.StringVar(&s.Runs, "runs", cmp.Or(os.Getenv("BELAY_RUNS"), "64"), "background runs that this node runs at once (BELAY_RUNS)")
	f.StringVar(&s.ProjectRuns, "project-runs", cmp.Or(os.Getenv("BELAY_PROJECT_RUNS"), "1000"), "background runs that a project may have queued and running before more are refused (BELAY_PROJECT_RUNS)")
	f.StringVar(&s.ProjectActive, "project-active-runs", cmp.Or(os.Getenv("BELAY_PROJECT_ACTIVE_RUNS"), "0"), "of these, how many may run at once on all nodes together; 0: as many as the nodes take (BELAY_PROJECT_ACTIVE_RUNS)")
	s.reaching(c)
	s.sandboxed(c)
}

func (s *settings) reaching(c *cobra.Command) {
	c.Flags().StringVar(&s.OutboundAllow, "outbound-allow", os.Getenv("BELAY_OUTBOUND_ALLOW"), "hosts and CIDRs, comma-separated, that tools and callbacks may reach although they are private (BELAY_OUTBOUND_ALLOW)")
}

func (s *settings) sandboxed(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&s.Sandbox, "sandbox", cmp.Or(os.Getenv("BELAY_SANDBOX"), "bwrap"), "how agents' commands run: bwrap, unconfined (they can do whatever the node can) or off (BELAY_SANDBOX)")
	f.StringVar(&s.SandboxDir, "sandbox-dir", os.Getenv("BELAY_SANDBOX_DIR"), "directory of sessions' workspaces, default in the user's cache or /var/lib (BELAY_SANDBOX_DIR)")
}

// check refuses what can't be meant, naming the variable.
func (s *settings) check() error {
	if s.DatabaseURL == "" {
		return fmt.Errorf("BELAY_DATABASE_URL is not set: give a Postgres connection string, like postgres://user:password@host:5432/belay")
	}
	if s.Push != "" && s.Push != "on" && s.Push != "off" {
		return fmt.Errorf("BELAY_PUSH must be on or off, not %q", s.Push)
	}
	if s.MCPStdio != "" && s.MCPStdio != "on" && s.MCPStdio != "off" {
		return fmt.Errorf("BELAY_MCP_STDIO must be on or off, not %q", s.MCPStdio)
	}
	if s.Sandbox != "" && s.Sandbox != "bwrap" && s.Sandbox != "unconfined" && s.Sandbox != "off" {
		return fmt.Errorf("BELAY_SANDBOX must be bwrap, unconfined or off, not %q", s.Sandbox)
	}
	if _, err := s.level(); err != nil {
		return err
	}
	if _, err := s.ping(); err != nil {
		return err
	}
	if _, err := s.guard(); err != nil {
		return err
	}
	if _, err := s.delays(); err != nil {
		return err
	}
	if _, err := s.proxies(); err != nil {
		return err
	}
	if err := s.Retain.check(); err != nil {
		return err
	}
	if _, err := s.bounds(); err != nil {
		return err
	}
	_, err := s.sealer()
	return err
}

func (s *settings) level() (l slog.Level, err error) {
	if err := l.UnmarshalText([]byte(cmp.Or(s.LogLevel, "info"))); err != nil {
		return l, fmt.Errorf("BELAY_LOG_LEVEL must be debug, info, warn or error, not %q", s.LogLevel)
	}
	return l, nil
}

func (s *settings) ping() (time.Duration, error) {
	d, err := time.ParseDuration(cmp.Or(s.Ping, "15s"))
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("BELAY_PING must be a duration like 15s, not %q", s.Ping)
	}
	return d, nil
}

// bounds are those of background runs.
type bounds struct{ node, project, active int }

func (s *settings) bounds() (b bounds, err error) {
	for _, n := range []struct {
		to          *int
		name, given string
		def, low    int
	}{
		{&b.node, "BELAY_RUNS", s.Runs, 64, 1},
		{&b.project, "BELAY_PROJECT_RUNS", s.ProjectRuns, 1000, 1},
		{&b.active, "BELAY_PROJECT_ACTIVE_RUNS", s.ProjectActive, 0, 0},
	} {
		*n.to = n.def
		if n.given == "" {
			continue
		}
		if *n.to, err = strconv.Atoi(n.given); err != nil || *n.to < n.low || *n.to > 1_000_000 {
			return b, fmt.Errorf("%s must be a whole number from %d to 1000000, not %q", n.name, n.low, n.given)
		}
	}
	return b, nil
}

// guard is the way out to addresses that callers supply.
func (s *settings) guard() (*outbound.Guard, error) {
	g, err := outbound.New(outbound.Config{Allow: list(s.OutboundAllow)})
	if err != nil {
		return nil, fmt.Errorf("BELAY_OUTBOUND_ALLOW: %w", err)
	}
	return g, nil
}

// visitors tells who calls a portal; without a key it lets nobody in.
func (s *settings) visitors(portals access.Portals) (*access.Visitors, error) {
	sealer, err := s.sealer()
	if err != nil || sealer == nil {
		return access.NewVisitors(portals, nil, nil), err
	}
	return access.NewVisitors(portals, sealer.SigningKeys("visitor"), nil), nil
}

// delays are the pauses between attempts of a callback, nil: the default.
func (s *settings) delays() ([]time.Duration, error) {
	var out []time.Duration
	for _, e := range list(s.CallbackDelay) {
		d, err := time.ParseDuration(e)
		if err != nil || d <= 0 {
			return nil, fmt.Errorf("BELAY_CALLBACK_DELAYS must be durations like 5s,1m,1h, not %q", e)
		}
		out = append(out, d)
	}
	return out, nil
}

// proxies are the balancers that say where a caller is.
func (s *settings) proxies() ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, e := range list(s.Proxies) {
		p, err := netip.ParsePrefix(e)
		if err != nil {
			var a netip.Addr
			a, err = netip.ParseAddr(e)
			p = netip.PrefixFrom(a, a.BitLen())
		}
		if err != nil {
			return nil, fmt.Errorf("BELAY_TRUSTED_PROXIES must be IP addresses and CIDRs, not %q", e)
		}
		out = append(out, p.Masked())
	}
	return out, nil
}

// list splits at commas and leaves out what is empty.
func list(s string) []string {
	var out []string
	for e := range strings.SplitSeq(s, ",") {
		if e = strings.TrimSpace(e); e != "" {
			out = append(out, e)
		}
	}
	return out
}

// sealer is nil where no key is set: storing a secret is an error then.
func (s *settings) sealer() (*access.Sealer, error) {
	if s.SecretKey == "" {
		return nil, nil
	}
	sealer, err := access.NewSealer(strings.Split(s.SecretKey, ",")...)
	if err != nil {
		return nil, fmt.Errorf("BELAY_SECRET_KEY: %w", err)
	}
	return sealer, nil
}
