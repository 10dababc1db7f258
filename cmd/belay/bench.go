package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/bench"
	"github.com/belayrun/belay/internal/manifest"
	"github.com/belayrun/belay/internal/postgres"
	"github.com/belayrun/belay/internal/postgres/pgserver"
)

// benchAgent is the agent of the bench's own cluster.
const benchAgent = "bench"

const benchManifest = `kind: model
key: bench
base_url: ${BENCH_MODEL_URL}
model: bench
retries: 0
---
kind: agent
key: bench
config: {model: bench}
`

// benchOptions are what all benches are told.
type benchOptions struct {
	url, cancelURL string // empty: a cluster of its own
	token, agent   string
	input          string
	modelListen    string
	database       string
	data           string
	json           bool
	timeout        time.Duration
	rate           int
	tools          *benchTools // nil: the bench is not that of tools
	nodes          []string    // more of its own nodes' environment
}

func benchCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure the promises: stop, start, load, tools and queue",
		Long: `Measure the promises of Belay. Without --url a bench starts all it needs on this
machine: a private Postgres, a model, two nodes. It ends them when it is done or
interrupted. Everything then shares the machine's cores: the figures are what is
left for Belay beside its load.`,
	}
	c.AddCommand(benchStopCommand(), benchStartCommand(), benchLoadCommand(), benchToolsCommand(), benchQueueCommand())
	return c
}

func benchStopCommand() *cobra.Command {
	o := &benchOptions{}
	var s bench.StopOptions
	c := o.command("stop", "How long a stop takes to close the provider's connection, from the same and another node",
		func(ctx context.Context, env *bench.Env) (*bench.Report, error) { return bench.Stop(ctx, env, s) },
		func() error { return within("--n", s.N, 1, 10_000) })
	c.Flags().IntVar(&s.N, "n", 200, "stops for each path")
	return c
}

func benchStartCommand() *cobra.Command {
	o := &benchOptions{}
	var s bench.StartOptions
	c := o.command("start", "What Belay adds to the time to the first text",
		func(ctx context.Context, env *bench.Env) (*bench.Report, error) { return bench.Start(ctx, env, s) },
		func() error { return within("--n", s.N, 1, 10_000) })
	c.Flags().IntVar(&s.N, "n", 300, "turns, and as many calls of the model alone")
	return c
}

func benchLoadCommand() *cobra.Command {
	o := &benchOptions{}
	var l bench.LoadOptions
	c := o.command("load", "What many streaming turns cost, and stopping 200 of them at once",
		func(ctx context.Context, env *bench.Env) (*bench.Report, error) {
			l.Rate = o.rate
			return bench.Load(ctx, env, l)
		},
		func() error { return checkLoad(l) })
	c.Flags().IntSliceVar(&l.Turns, "turns", []int{1000, 2000}, "how many turns stream at once; several are measured one after the other")
	c.Flags().DurationVar(&l.Window, "window", 10*time.Second, "how long each is looked at")
	c.Flags().BoolVar(&l.Spread, "spread", false, "spread the turns over both nodes")
	return c
}

func benchQueueCommand() *cobra.Command {
	o := &benchOptions{nodes: []string{"BELAY_RUNS=1", "BELAY_PROJECT_RUNS=100000", "BELAY_PROJECT_ACTIVE_RUNS=0"}}
	q := bench.QueueOptions{Lanes: 2}
	c := o.command("queue", "What a background run's queue adds to a turn, and what a long one costs",
		func(ctx context.Context, env *bench.Env) (*bench.Report, error) { return bench.Queue(ctx, env, q) },
		func() error {
			return errors.Join(within("--n", q.N, 1, 10_000), within("--backlog", q.Backlog, 1, 50_000))
		})
	c.Flags().IntVar(&q.N, "n", 200, "runs, and as many turns that are waited for")
	c.Flags().IntVar(&q.Backlog, "backlog", 4000, "runs that are queued at once")
	return c
}

func checkLoad(l bench.LoadOptions) error {
	if len(l.Turns) == 0 || len(l.Turns) > 10 {
		return errors.New("--turns: give 1 to 10 numbers")
	}
	if l.Window < time.Second || l.Window > 5*time.Minute {
		return fmt.Errorf("--window must be 1s to 5m, not %s", l.Window)
	}
	for _, n := range l.Turns {
		if err := within("--turns", n, 1, 20_000); err != nil {
			return err
		}
		var files syscall.Rlimit
		need := uint64(2*n + 1000)
		if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err == nil && uint64(files.Max) < need {
			return fmt.Errorf("--turns %d needs %d open files, and the limit is %d: raise it (ulimit -n)", n, need, files.Max)
		}
	}
	return nil
}

func within(flag string, n, low, high int) error {
	if n < low || n > high {
		return fmt.Errorf("%s must be %d to %d, not %d", flag, low, high, n)
	}
	return nil
}

// command makes the command of one bench; check looks at its own flags.
func (o *benchOptions) command(use, short string, run func(context.Context, *bench.Env) (*bench.Report, error), check func() error) *cobra.Command {
	c := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := errors.Join(o.check(), check()); err != nil {
				return err
			}
			ctx, cancel := context.WithTimeoutCause(c.Context(), o.timeout, fmt.Errorf("not done within --timeout %s", o.timeout))
			defer cancel()
			return o.run(ctx, run, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	f := c.Flags()
	f.StringVar(&o.url, "url", "", "a running node to measure instead of a cluster of its own")
	f.StringVar(&o.cancelURL, "cancel-url", "", "another node of it, for stops; default --url")
	f.StringVar(&o.token, "token", os.Getenv("BELAY_TOKEN"), "with --url: an API token (BELAY_TOKEN)")
	f.StringVar(&o.agent, "agent", benchAgent, "with --url: the agent to ask")
	f.StringVar(&o.input, "input", "/slow 600", "with --url and without --model-listen: the message, to be answered at length")
	f.StringVar(&o.modelListen, "model-listen", "", "with --url: address for this command's model, http://ADDR/v1, to which the agent's model must point")
	f.StringVar(&o.database, "database-url", "", "with --url: the nodes' Postgres, to measure it alone in the same run")
	f.StringVar(&o.data, "data", "", "where the private Postgres keeps its files for the run; default a temporary directory on disk")
	f.BoolVar(&o.json, "json", false, "print one JSON object instead of a table")
	f.DurationVar(&o.timeout, "timeout", 10*time.Minute, "end after so long, whatever is left")
	f.IntVar(&o.rate, "rate", 20, "events per second of each streaming turn")
	return c
}

func (o *benchOptions) check() error {
	switch {
	case o.url == "" && (o.cancelURL != "" || o.modelListen != "" || o.database != ""):
		return errors.New("--cancel-url, --model-listen and --database-url go with --url")
	case o.url != "" && o.token == "":
		return errors.New("--token: running nodes want one; make it with: belay token create --name bench")
	}
	return within("--rate", o.rate, 1, 1000)
}

// run wires what a bench needs, runs it and ends all that it started.
func (o *benchOptions) run(ctx context.Context, run func(context.Context, *bench.Env) (*bench.Report, error), out, errs io.Writer) (err error) {
	env := &bench.Env{Token: o.token, Agent: o.agent, Versions: map[string]string{"go": runtime.Version()}}
	env.Say = func(format string, a ...any) { fmt.Fprintf(errs, "bench: "+format+"\n", a...) }
	var ends ends
	defer func() { err = errors.Join(err, ends.run()) }()
	switch {
	case o.tools != nil:
		if err := o.tools.start(ctx, env, &ends); err != nil {
			return err
		}
	case o.url == "" || o.modelListen != "":
		if err := ends.model(ctx, env, cmp.Or(o.modelListen, "127.0.0.1:0"), o.rate); err != nil {
			return err
		}
	}
	if o.url == "" {
		err = o.ownCluster(ctx, env, &ends)
	} else {
		err = o.foreign(ctx, env, &ends)
	}
	if err != nil {
		return err
	}
	report, err := run(ctx, env)
	if err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	if o.json {
		err = report.JSON(out)
	} else {
		err = report.Text(out)
	}
	if n := len(report.Misses); err == nil && n > 0 {
		err = errors.New("something that was promised did not happen: see the report")
	}
	return err
}

// ends undoes what was started, last first.
type ends []func() error

func (e *ends) add(f func() error) { *e = append(*e, f) }

func (e *ends) run() error {
	var errs []error
	for i := len(*e) - 1; i >= 0; i-- {
		errs = append(errs, (*e)[i]())
	}
	return errors.Join(errs...)
}

// model starts the bench's model.
func (e *ends) model(ctx context.Context, env *bench.Env, addr string, rate int) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("--model-listen: %w", err)
	}
	env.Model, env.ModelURL = bench.NewModel(rate), "http://"+l.Addr().String()+"/v1"
	m := &modelServer{srv: &http.Server{Handler: env.Model, ReadHeaderTimeout: 10 * time.Second}, done: make(chan struct{})}
	pacing, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { env.Model.Run(pacing) })
	go func() {
		defer close(m.done)
		_ = m.srv.Serve(l) // ends with ErrServerClosed at Close
	}()
	e.add(func() error {
		stop()
		wg.Wait()
		return m.Close()
	})
	return nil
}

// foreign measures nodes that run already.
func (o *benchOptions) foreign(ctx context.Context, env *bench.Env, ends *ends) error {
	urls := [2]string{strings.TrimRight(o.url, "/"), strings.TrimRight(cmp.Or(o.cancelURL, o.url), "/")}
	env.Foreign, env.Input = true, o.input
	env.Open = func(context.Context, bool) (*bench.Pair, error) {
		return &bench.Pair{URLs: urls, Close: func() error { return nil }}, nil
	}
	env.Notes = append(env.Notes, "measured "+urls[0]+", stops through "+urls[1]+": what shares their machine is not known here")
	if o.cancelURL == "" {
		env.Notes = append(env.Notes, "there is no --cancel-url: \"other node\" is the same node")
	}
	env.Versions["postgres"] = "not known"
	if o.database == "" {
		return nil
	}
	return measureDatabase(ctx, env, o.database, ends)
}

// ownCluster starts a private Postgres with an agent and a token, and says how
// nodes are started on it.
func (o *benchOptions) ownCluster(ctx context.Context, env *bench.Env, ends *ends) error {
	dir := o.data
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "belay-bench-"); err != nil {
			return err
		}
		ends.add(func() error { return os.RemoveAll(dir) })
		if err := os.Chmod(dir, 0o711); err != nil { // the server may have to run as another user
			return err
		}
	}
	env.Say("starting Postgres")
	srv, err := pgserver.Start(ctx, pgserver.Config{Dir: filepath.Join(dir, "postgres")})
	if err != nil {
		return err
	}
	ends.add(func() error {
		err := srv.Stop()
		if o.data == "" { // it may have had to keep its files elsewhere
			err = errors.Join(err, os.RemoveAll(srv.Dir()))
		}
		return err
	})
	if _, _, err := postgres.Migrate(ctx, srv.URL()); err != nil {
		return err
	}
	s := &settings{DatabaseURL: srv.URL()}
	env.Agent = benchAgent
	file, vars, extra := benchManifest, map[string]string{"BENCH_MODEL_URL": env.ModelURL}, o.nodes
	if o.tools != nil {
		file, extra = o.tools.manifest(vars), o.tools.environment()
	}
	if env.Token, err = benchSeed(ctx, s, file, vars); err != nil {
		return err
	}
	env.DatabaseCPU = func() time.Duration { return bench.TreeCPU(postmaster(srv.Dir())) }
	env.Notes = append(env.Notes, "Postgres is the bench's own, on disk in "+srv.Dir()+", with default settings (fsync on)")
	env.Open = func(ctx context.Context, push bool) (*bench.Pair, error) {
		env.Say("starting two nodes, push %v", push)
		return benchNodes(ctx, srv.URL(), push, extra)
	}
	return measureDatabase(ctx, env, srv.URL(), ends)
}

// postmaster is the process of the server whose files are in dir, 0 if unknown.
func postmaster(dir string) int {
	b, _ := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
	first, _, _ := strings.Cut(string(b), "\n")
	pid, _ := strconv.Atoi(strings.TrimSpace(first))
	return pid
}

// benchSeed makes the bench's model, agents and token.
func benchSeed(ctx context.Context, s *settings, file string, vars map[string]string) (token string, err error) {
	store, err := openStore(ctx, s, slog.New(slog.DiscardHandler))
	if err != nil {
		return "", err
	}
	defer store.Close()
	project, err := store.Project(ctx, "default")
	if err != nil {
		return "", err
	}
	m, err := manifest.Parse("bench.yaml", strings.NewReader(file), vars)
	if err != nil {
		return "", err
	}
	if _, err := manifest.Apply(ctx, store, project, m, false); err != nil {
		return "", err
	}
	return createToken(ctx, store, agent.Token{Project: project, Name: "bench", Permissions: agent.Permissions})
}

// benchNodes starts two nodes as processes of this program; extra is more of
// their environment.
func benchNodes(ctx context.Context, database string, push bool, extra []string) (*bench.Pair, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	mode := "off"
	if push {
		mode = "on"
	}
	var nodes [2]*bench.Node
	stop := func() error {
		var wg sync.WaitGroup
		for _, n := range nodes {
			if n != nil {
				wg.Go(n.Stop)
			}
		}
		wg.Wait()
		return nil
	}
	pair := &bench.Pair{Close: stop}
	for i := range nodes {
		env := append(os.Environ(), "BELAY_DATABASE_URL="+database, "BELAY_ADDR=127.0.0.1:0", "BELAY_PUSH="+mode,
			"BELAY_NODE=bench-"+strconv.Itoa(i+1), "BELAY_LOG_LEVEL=info", "BELAY_SECRET_KEY=", "BELAY_OUTBOUND_ALLOW=")
		env = append(env, extra...) // the last of a name counts
		if nodes[i], err = bench.StartNode(ctx, exe, []string{"serve"}, env); err != nil {
			return nil, errors.Join(err, stop())
		}
		pair.URLs[i] = nodes[i].URL
	}
	return pair, nil
}

// measureDatabase lets a bench measure the database alone.
func measureDatabase(ctx context.Context, env *bench.Env, url string, ends *ends) error {
	g, err := postgres.OpenGauge(ctx, url)
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	ends.add(func() error { g.Close(); return nil })
	env.Commits = func(ctx context.Context) (bench.Commits, error) {
		writes, all, err := g.Commits(ctx)
		return bench.Commits{Writes: writes, All: all}, err
	}
	env.Analyze = g.Analyze
	env.Hints = func(ctx context.Context, n int) ([]time.Duration, error) { return postgres.HintTimes(ctx, url, n) }
	env.Disk = g.CommitTimes
	env.Versions["postgres"] = g.Version
	return nil
}
