package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/belayrun/belay/internal/access"
	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/httpapi/a2a"
	"github.com/belayrun/belay/internal/httpapi/assistants"
	"github.com/belayrun/belay/internal/httpapi/chat"
	"github.com/belayrun/belay/internal/httpapi/client"
	"github.com/belayrun/belay/internal/httpapi/portal"
	"github.com/belayrun/belay/internal/httpapi/responses"
	"github.com/belayrun/belay/internal/httpapi/studio"
	"github.com/belayrun/belay/internal/metrics"
	"github.com/belayrun/belay/internal/openai"
	"github.com/belayrun/belay/internal/outbound"
	"github.com/belayrun/belay/internal/postgres"
	"github.com/belayrun/belay/internal/tool"
	"github.com/belayrun/belay/internal/tool/mcp"
	"github.com/belayrun/belay/internal/turn"
	"github.com/belayrun/belay/web"
)

// node is one node of a cluster in this process: its store, engine and server.
type node struct {
	log      *slog.Logger
	store    *postgres.Store
	models   *models
	guard    *outbound.Guard // what all tools reach the world through
	mcp      *mcp.Source
	jobs     *jobs
	engine   *turn.Engine
	visitors *access.Visitors
	listener net.Listener
	server   *http.Server
	flight   *flight
	tools    opener
}

// newNode wires a node and takes its port; it serves nothing before run.
func newNode(ctx context.Context, s *settings, fl *flight, log *slog.Logger) (*node, error) {
	log = log.With("node", s.Node)
	store, err := openStore(ctx, s, log)
	if err != nil {
		return nil, err
	}
	guard, err := s.guard()
	if err != nil {
		store.Close()
		return nil, err
	}
	openai.WarmUp()
	n := &node{log: log, store: store, models: newModels(store), guard: guard, flight: fl}
	n.mcp = newMCP(s, store, guard, log)
	n.tools = opener{s, store, guard}
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m := metrics.New(reg)
	sand := s.newSandbox(log)
	bounds, err := s.bounds()
	if err != nil {
		store.Close()
		return nil, err
	}
	endOrphans(ctx, sand, log)
	cfg := turn.Config{
		Store: store, Agents: store, Models: n.models, Tools: toolbox(store, store, guard, n.mcp, sand), Addresses: guard, Label: s.Node,
		MaxQueued: bounds.node, ProjectRuns: bounds.project, ProjectRunning: bounds.active,
		Observer: observer(m, fl), Log: log,
	}
	if s.Push != "off" {
		cfg.Hints = store
	}
	n.engine = turn.New(cfg)
	n.gauges(m)
	if n.jobs, err = newJobs(s, store, guard, m, log); err != nil {
		store.Close()
		return nil, err
	}
	ping, err := s.ping()
	if err != nil {
		store.Close()
		return nil, err
	}
	proxies, err := s.proxies()
	if err == nil {
		n.visitors, err = s.visitors(store)
	}
	if err == nil {
		n.listener, err = net.Listen("tcp", s.Addr)
	}
	if err != nil {
		store.Close()
		return nil, fmt.Errorf("BELAY_ADDR: %w", err)
	}
	n.server = &http.Server{
		Handler:           n.handler(s, reg, m, ping, proxies),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute, // longer than a balancer keeps its idle connections
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	return n, nil
}

func (n *node) handler(s *settings, reg *prometheus.Registry, m *metrics.Metrics, ping time.Duration, proxies []netip.Prefix) http.Handler {
	streams := httpapi.Streams{Ping: ping}
	routes := client.Routes(client.Config{Engine: n.engine, Store: n.store, Tools: n.tools, Streams: streams})
	routes = append(routes, responses.Routes(responses.Config{Engine: n.engine, Ceiling: n.engine, Store: n.store, Streams: streams})...)
	routes = append(routes, chat.Routes(chat.Config{Engine: n.engine, Ceiling: n.engine, Store: n.store, Streams: streams})...)
	routes = append(routes, assistants.Routes(assistants.Config{Engine: n.engine, Ceiling: n.engine, Store: n.store, Streams: streams})...)
	agents, shown := a2a.Routes(a2a.Config{
		Engine: n.engine, Watcher: n.engine, Store: n.store, Streams: streams, CheckURL: n.guard.CheckURL,
	})
	routes = append(routes, agents...)
	return httpapi.New(httpapi.Config{
		Auth:         access.New(access.Config{Lookup: n.store}),
		InvalidToken: access.ErrInvalidToken,
		Client:       routes,
		Open:         append(portal.Routes(portal.Config{Engine: n.engine, Visitors: n.visitors, Store: n.store, Streams: streams}), shown...),
		Proxies:      proxies,
		Studio:       n.studio(s, streams),
		Pages:        httpapi.NewPages(web.Files(), n.visitors.Portal),
		Health:       http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) }),
		Ready:        http.HandlerFunc(n.ready),
		Metrics:      promhttp.HandlerFor(reg, promhttp.HandlerOpts{ErrorLog: slog.NewLogLogger(n.log.Handler(), slog.LevelWarn)}),
		Observe:      m.HTTPRequest,
		Log:          n.log,
	})
}

// studio is the API of people.
func (n *node) studio(s *settings, streams httpapi.Streams) httpapi.Studio {
	cfg := studio.Config{
		Engine: n.engine, Store: n.store, Tools: n.tools, Access: access.NewSignIns(n.store, access.NewPasswords(), access.Recall{}), SignInLife: access.SignInLife,
		NewToken: access.NewToken, NewPassword: access.NewPassword, Node: s.Node, Streams: streams,
		MCPCommands: s.MCPStdio == "on", Hint: s.hint,
	}
	for _, f := range tool.Demo() {
		cfg.Functions = append(cfg.Functions, f.Spec)
	}
	return studio.New(cfg)
}

// ready answers 200 when the node should get requests, else 503 and why.
func (n *node) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), time.Second)
	defer cancel()
	err := n.engine.Ready()
	if err == nil {
		err = n.store.Ping(ctx)
	}
	push := "off"
	if n.engine.Push() {
		push = "on"
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	why := "ready"
	if err != nil {
		why = "database away"
		if errors.Is(err, agent.ErrDraining) {
			why = "draining"
		}
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	fmt.Fprintf(w, "{\"status\":%q,\"push\":%q}\n", why, push)
}

// run serves until ctx ends, then drains. It returns when nothing runs any more.
func (n *node) run(ctx context.Context) error {
	defer n.store.Close()
	defer n.models.close()
	defer n.guard.Transport().CloseIdleConnections()
	defer n.mcp.Close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	work, rest := context.WithCancel(context.WithoutCancel(ctx))
	defer rest()
	var wg sync.WaitGroup
	failed := make(chan error, 1)
	wg.Go(func() {
		if err := n.server.Serve(n.listener); !errors.Is(err, http.ErrServerClosed) {
			failed <- err
			stop()
		}
	})
	wg.Go(func() { n.jobs.run(work) })
	n.log.Info("serving", "addr", n.listener.Addr().String())
	err := n.engine.Run(ctx) // until ctx has ended, and every turn and follower with it
	rest()
	bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if n.server.Shutdown(bye) != nil {
		_ = n.server.Close()
	}
	wg.Wait()
	close(failed)
	for e := range failed {
		err = errors.Join(err, e)
	}
	n.log.Info("drained")
	return err
}

func (n *node) gauges(m *metrics.Metrics) {
	m.LeaseAge(n.engine.LeaseAge)
	m.Push(n.engine.Push)
	m.Followers(n.engine.Followers)
	m.ClaimedTurns(n.engine.Claimed)
	for name, stat := range n.store.Pools() {
		m.Pool(name, func() metrics.PoolStat { return poolStat(stat()) })
	}
}

func poolStat(s *pgxpool.Stat) metrics.PoolStat {
	return metrics.PoolStat{
		Acquired: int(s.AcquiredConns()), Idle: int(s.IdleConns()), Max: int(s.MaxConns()),
		WaitCount: s.EmptyAcquireCount(), WaitTime: s.EmptyAcquireWaitTime(),
	}
}

func observer(m *metrics.Metrics, fl *flight) turn.Observer {
	return turn.Observer{
		StopStage: func(p turn.StopPath, s turn.StopStage, d time.Duration) {
			m.StopStage(string(p), string(s), d)
			if fl.over(s, d) {
				m.StopOverBudget()
			}
		},
		TurnStarted: func(d agent.Door) { m.TurnStarted(string(d)) },
		TurnEnded: func(o agent.Outcome, d agent.Door) {
			code := o.Detail
			if o.Failure != nil {
				code = o.Failure.Code
			}
			m.TurnEnded(string(o.Kind), string(d), code)
		},
		ModelCall: func(u agent.Usage) {
			m.ModelCall(u.Model, string(u.Status), time.Duration(u.LatencyMS)*time.Millisecond)
			m.Tokens(u.Model, u.Input, u.Output, u.Estimated)
			m.Cost(u.Model, u.CostUSD)
		},
		ToolCall:    func(kind string, o agent.ToolOutcome, d time.Duration) { m.ToolCall(kind, string(o), d) },
		Claimed:     m.Claimed,
		FirstText:   m.FirstText,
		Flush:       func(rows int, d time.Duration, err error) { m.Flush(rows, d, err != nil) },
		LegLost:     m.SlotLost,
		LegSwept:    func() { m.SlotSwept(1) },
		RunExpired:  m.RunExpired,
		NodeDead:    m.NodeDeclaredDead,
		NotifyError: m.NotifyFailed,
	}
}

// newLog writes JSON lines to stderr.
func newLog(s *settings) (*slog.Logger, error) {
	level, err := s.level()
	if err != nil {
		return nil, err
	}
	return slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level})), nil
}
