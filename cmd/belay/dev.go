package main

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/belayrun/belay/internal/access"
	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi/studio"
	"github.com/belayrun/belay/internal/manifest"
	"github.com/belayrun/belay/internal/postgres"
	"github.com/belayrun/belay/internal/postgres/pgserver"
)

//go:embed demo.yaml
var demo string

type devOptions struct {
	settings
	nodes int
	data  string
}

func devCommand() *cobra.Command {
	o := &devOptions{}
	c := &cobra.Command{
		Use:   "dev",
		Short: "Try Belay: a Postgres of its own, a demo agent, a token, and curl lines to use them",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return dev(c.Context(), o, c.OutOrStdout())
		},
	}
	o.database(c)
	o.serving(c, "127.0.0.1:8080")
	must(c.Flags().Set("log-level", cmp.Or(os.Getenv("BELAY_LOG_LEVEL"), "warn")))
	c.Flags().IntVar(&o.nodes, "nodes", 1, "how many nodes to run, on the ports from --addr on")
	c.Flags().StringVar(&o.data, "data", "", "where the database's files are kept; default a directory in the user's cache")
	return c
}

// dev runs everything until ctx ends, and leaves no process behind.
func dev(ctx context.Context, o *devOptions, out io.Writer) (err error) {
	addrs, err := o.addrs()
	if err != nil {
		return err
	}
	log, err := newLog(&o.settings)
	if err != nil {
		return err
	}
	dir, err := o.dir()
	if err != nil {
		return err
	}
	if o.DatabaseURL == "" {
		srv, err := pgserver.Start(ctx, pgserver.Config{Dir: filepath.Join(dir, "postgres")})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, srv.Stop()) }()
		o.DatabaseURL = srv.URL()
	}
	if o.SecretKey, err = secretKey(dir); err != nil {
		return err
	}
	if _, _, err := postgres.Migrate(ctx, o.DatabaseURL); err != nil {
		return err
	}
	model, err := startModel("127.0.0.1:0")
	if err != nil {
		return err
	}
	defer model.Close()
	shop, err := startSite(addrs[len(addrs)-1], log)
	if err != nil {
		return err
	}
	defer shop.stop()
	seeded, err := seed(ctx, &o.settings, model.url, shop.origin, dir, log)
	if err != nil {
		return err
	}
	o.hint = &seeded.owner
	return o.serve(ctx, addrs, log, func(addrs []string) {
		shop.belay.Store(new("http://" + addrs[0]))
		greet(out, addrs, seeded, shop.origin, o.DatabaseURL)
	})
}

// serve runs the nodes; ready is called when all of them have their ports, with
// the addresses that they got.
func (o *devOptions) serve(ctx context.Context, addrs []string, log *slog.Logger, ready func([]string)) error {
	fl := newFlight(os.TempDir(), log)
	defer fl.close()
	g, ctx := errgroup.WithContext(ctx)
	var nodes []*node
	for i, addr := range addrs {
		s := o.settings
		s.Addr, s.Node = addr, fmt.Sprintf("node-%d", i+1)
		n, err := newNode(ctx, &s, fl, log)
		if err != nil {
			for _, n := range nodes {
				n.listener.Close()
				n.store.Close()
			}
			return err
		}
		nodes = append(nodes, n)
	}
	for i, n := range nodes {
		addrs[i] = n.listener.Addr().String()
		g.Go(func() error { return n.run(ctx) })
	}
	ready(addrs)
	return g.Wait()
}

// addrs are the nodes' addresses: consecutive ports.
func (o *devOptions) addrs() ([]string, error) {
	host, port, err := net.SplitHostPort(o.Addr)
	p, perr := strconv.Atoi(port)
	if err != nil || perr != nil || p < 0 || p > 65535 {
		return nil, fmt.Errorf("--addr must be HOST:PORT, not %q", o.Addr)
	}
	if o.nodes < 1 || o.nodes > 16 {
		return nil, fmt.Errorf("--nodes must be 1 to 16, not %d", o.nodes)
	}
	var out []string
	for i := range o.nodes {
		next := p
		if p > 0 {
			next = p + i
		}
		out = append(out, net.JoinHostPort(host, strconv.Itoa(next)))
	}
	return out, nil
}

func (o *devOptions) dir() (string, error) {
	dir := o.data
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("--data: %w", err)
		}
		dir = filepath.Join(cache, "belay")
	}
	return dir, os.MkdirAll(dir, 0o700)
}

// secretKey is kept beside the database that it opens.
func secretKey(dir string) (string, error) {
	if k := os.Getenv("BELAY_SECRET_KEY"); k != "" {
		return k, nil
	}
	path := filepath.Join(dir, "secret.key")
	b, err := os.ReadFile(path)
	if err == nil {
		return strings.TrimSpace(string(b)), nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	key := access.NewKey()
	return key, os.WriteFile(path, []byte(key+"\n"), 0o600)
}

// seeded is what there is to come in with.
type seeded struct {
	token string
	owner studio.Hint
}

// seed applies the demo's models and agents, and makes a token and an owner, or
// takes those of the last time: what was exported in a terminal then still works.
func seed(ctx context.Context, s *settings, modelURL, site, dir string, log *slog.Logger) (out seeded, err error) {
	store, err := openStore(ctx, s, log)
	if err != nil {
		return out, err
	}
	defer store.Close()
	project, err := store.Project(ctx, "default")
	if err != nil {
		return out, err
	}
	if err := applyDemo(ctx, store, project, modelURL, site); err != nil {
		return out, err
	}
	if out.token, err = seedToken(ctx, store, project, dir); err != nil {
		return out, err
	}
	out.owner, err = seedOwner(ctx, store, project, dir)
	return out, err
}

const demoOwner = "demo@belay.local"

// seedOwner makes the demo's owner. The password is this data directory's own:
// nobody elsewhere can know it.
func seedOwner(ctx context.Context, store *postgres.Store, project, dir string) (studio.Hint, error) {
	path := filepath.Join(dir, "dev.password")
	b, err := os.ReadFile(path)
	password := strings.TrimSpace(string(b))
	if err != nil || agent.CheckPassword("", password) != nil {
		password = access.NewPassword()
		if err := os.WriteFile(path, []byte(password+"\n"), 0o600); err != nil {
			return studio.Hint{}, err
		}
	}
	out := studio.Hint{Email: demoOwner, Password: password}
	m := agent.Member{Project: project, Role: agent.RoleOwner, User: agent.User{Email: demoOwner, Name: "Demo owner"}}
	isNew, err := addMember(ctx, store, m, password)
	if isNew || err != nil && !errors.Is(err, agent.ErrExists) {
		return out, err
	}
	u, hash, err := store.UserByEmail(ctx, demoOwner)
	if err != nil {
		return out, err
	}
	passwords := access.NewPasswords()
	if ok, err := passwords.Check(ctx, password, hash); ok || err != nil {
		return out, err
	}
	if hash, err = passwords.Hash(ctx, password); err != nil {
		return out, err
	}
	return out, store.SetPassword(ctx, u.ID, hash, nil)
}

func seedToken(ctx context.Context, store *postgres.Store, project, dir string) (token string, err error) {
	path := filepath.Join(dir, "dev.token")
	if b, err := os.ReadFile(path); err == nil {
		token = strings.TrimSpace(string(b))
		if t, err := store.TokenByHash(ctx, access.Hash(token)); err == nil && t.Project == project {
			return token, nil
		}
	}
	token, err = createToken(ctx, store, agent.Token{Project: project, Name: "dev", Permissions: agent.Permissions})
	if err != nil {
		return "", err
	}
	return token, os.WriteFile(path, []byte(token+"\n"), 0o600)
}

// applyDemo applies demo.yaml: modelURL is where the scripted model is, site the
// origin of the page that embeds the portal.
func applyDemo(ctx context.Context, store *postgres.Store, project, modelURL, site string) error {
	m, err := manifest.Parse("demo.yaml", strings.NewReader(demo), map[string]string{"DEMO_MODEL_URL": modelURL, "DEMO_SITE": site})
	if err != nil {
		return err
	}
	_, err = manifest.Apply(ctx, store, project, m, false)
	return err
}

// greet prints what to do next, to be pasted as it is: the first lines set what
// the others use.
func greet(out io.Writer, addrs []string, in seeded, site, database string) {
	stop, where := addrs[len(addrs)-1], ""
	if len(addrs) > 1 {
		where = ", through the other node"
	}
	fmt.Fprintf(out, greeting, strings.Join(addrs, " and "), database, addrs[0], stop, in.token, where, in.owner.Email, in.owner.Password, site)
}

const greeting = `
Belay runs on %[1]s. Ctrl-C ends it; the data stays.
Database: %[2]s

Studio: http://%[3]s/studio
  sign in as %[7]s with %[8]s
A portal: http://%[3]s/p/demo, and in a page of another site: %[9]s

In another terminal, or two:

  export BELAY_URL=http://%[3]s/api/client/v1 BELAY_STOP_URL=http://%[4]s/api/client/v1
  export BELAY_TOKEN=%[5]s
  auth="Authorization: Bearer $BELAY_TOKEN"
  newest() { curl -s "$BELAY_URL/agents/conversations?limit=1" -H "$auth" | grep -oE '[0-9a-f]{24}' | head -1; }

Stream a turn:

  curl -N "$BELAY_URL/agents/responses" -H "$auth" -H 'Content-Type: application/json' -d '{"model":"demo","input":"/slow 300","stream":true}'

Stop it%[6]s:

  curl -X POST "$BELAY_STOP_URL/agents/conversations/$(newest)/cancel?wait_ms=2000" -H "$auth"

Read what was kept:

  curl "$BELAY_URL/agents/conversations/$(newest)/messages" -H "$auth"

`
