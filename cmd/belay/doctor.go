package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/postgres"
)

func doctorCommand() *cobra.Command {
	s := &settings{}
	var project string
	var callModels bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check the database, hints, clocks, secrets, models and sandbox, and say what to do about each",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(c.Context(), time.Minute)
			defer cancel()
			return doctor(ctx, s, project, callModels, c.OutOrStdout())
		},
	}
	s.database(c)
	s.secrets(c)
	s.sandboxed(c)
	s.Node = "doctor"
	c.Flags().StringVar(&project, "project", "default", "project whose models are checked")
	c.Flags().BoolVar(&callModels, "call-models", true, "ask each model for one token; false: spend nothing")
	return c
}

// report prints findings and remembers whether one is bad.
type report struct {
	out io.Writer
	bad int
}

func (r *report) ok(what, format string, a ...any) {
	fmt.Fprintf(r.out, "ok    %-10s %s\n", what, fmt.Sprintf(format, a...))
}

func (r *report) warn(what, found, do string) {
	fmt.Fprintf(r.out, "warn  %-10s %s\n      %-10s -> %s\n", what, found, "", do)
}

func (r *report) fail(what, found, do string) {
	r.bad++
	fmt.Fprintf(r.out, "FAIL  %-10s %s\n      %-10s -> %s\n", what, found, "", do)
}

// doctor's error says only that something is bad; what, it has printed.
func doctor(ctx context.Context, s *settings, project string, callModels bool, out io.Writer) error {
	r := &report{out: out}
	if err := s.check(); err != nil {
		r.fail("settings", err.Error(), "set it and run this again")
		return errors.New("1 problem found")
	}
	if checkDatabase(ctx, r, s.DatabaseURL) {
		store, err := openStore(ctx, s, slog.New(slog.DiscardHandler))
		var schema *postgres.SchemaError
		switch {
		case errors.As(err, &schema):
			r.fail("migration", schema.Error(), "run: belay migrate")
		case err != nil:
			r.fail("database", err.Error(), "see the error")
		default:
			defer store.Close()
			r.ok("migration", "the schema is up to date")
			checkSecrets(ctx, r, store)
			checkModels(ctx, r, store, project, callModels)
		}
	}
	checkSandbox(ctx, r, s)
	if r.bad > 0 {
		return fmt.Errorf("%d problem(s) found", r.bad)
	}
	return nil
}

func checkDatabase(ctx context.Context, r *report, url string) bool {
	one, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	p, err := postgres.Measure(one, url)
	if err != nil {
		r.fail("database", err.Error(), "check BELAY_DATABASE_URL, that Postgres runs and that its user may connect")
		return false
	}
	r.ok("database", "Postgres %s, a commit takes %s", p.Version, round(p.Commit))
	if p.Commit > 20*time.Millisecond {
		r.warn("commit", "a commit takes "+round(p.Commit), "look at the disk of the database: every stop and every turn waits for commits")
	}
	if p.HintErr != nil {
		r.warn("hints", p.HintErr.Error(), "stops from other nodes are found by polling (up to 250 ms): connect to Postgres directly for push, or set BELAY_PUSH=off to say that you know")
	} else {
		r.ok("hints", "commit, NOTIFY and back in %s", round(p.Hint))
	}
	if p.Skew.Abs() > time.Second {
		r.warn("clock", fmt.Sprintf("the database's clock is %s ahead", round(p.Skew)), "nothing breaks by it (leases use the database's clock alone), but times in logs won't match: run NTP on both")
	} else {
		r.ok("clock", "within %s of the database's", round(p.Skew.Abs()))
	}
	return true
}

func round(d time.Duration) string { return d.Round(10 * time.Microsecond).String() }

// checkSecrets looks at those of all projects.
func checkSecrets(ctx context.Context, r *report, store *postgres.Store) {
	counts, err := store.Secrets(ctx)
	if err != nil {
		r.fail("secrets", err.Error(), "see the error")
		return
	}
	total, unreadable := sumSecrets(counts)
	if len(unreadable) > 0 {
		r.fail("secrets", fmt.Sprintf("%d can't be opened, the first is %v", len(unreadable), unreadable[0]),
			"add the key that they were sealed with to BELAY_SECRET_KEY, or store them anew")
	}
	if total.Old > 0 {
		r.warn("secrets", fmt.Sprintf("%d of %d are sealed with a key that is not the first", total.Old, total.Old+total.Current),
			"run: belay secrets reseal; until then the old key must stay in BELAY_SECRET_KEY")
	} else if len(unreadable) == 0 {
		r.ok("secrets", "%d, all sealed with the first key", total.Current)
	}
}

func checkModels(ctx context.Context, r *report, store *postgres.Store, project string, call bool) {
	id, err := store.Project(ctx, project)
	if err != nil {
		r.fail("project", fmt.Sprintf("there is no project %q", project), "give --project a key that is there")
		return
	}
	list, err := store.Models(ctx, id)
	if err != nil {
		r.fail("models", err.Error(), "see the error")
		return
	}
	if len(list) == 0 {
		r.warn("models", "none is declared", "declare one in a YAML file and run: belay apply -f FILE")
	}
	models := newModels(store)
	defer models.close()
	for _, m := range list {
		checkModel(ctx, r, models, id, m, call)
	}
}

func checkModel(ctx context.Context, r *report, models *models, project string, m agent.Model, call bool) {
	_, c, err := models.Model(ctx, project, m.Key)
	if err != nil {
		r.fail("model", m.Key+": "+err.Error(), "set the variable, or the key by belay apply")
		return
	}
	if !call {
		r.ok("model", "%s: %s at %s, not called", m.Key, m.Model, m.BaseURL)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	began := time.Now()
	req := agent.Request{Prompts: []agent.Prompt{{Role: agent.RoleUser, Text: "Say ok."}}, MaxOutputTokens: 16}
	for _, err := range c.Stream(ctx, req) {
		if err != nil {
			r.fail("model", fmt.Sprintf("%s at %s: %v", m.Key, m.BaseURL, err), "check base_url, the model's name and the API key, then belay apply again")
			return
		}
		r.ok("model", "%s: first answer after %s", m.Key, round(time.Since(began)))
		return
	}
}
