package main

import (
	"cmp"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/belayrun/belay/internal/postgres"
	"github.com/belayrun/belay/internal/retention"
)

// retain says how long things are kept: durations, 0 is for ever.
type retain struct{ Deltas, Runs, Callbacks, Audit string }

func (r *retain) flags(c *cobra.Command) {
	flag := func(p *string, name, env, def, what string) {
		c.Flags().StringVar(p, name, cmp.Or(os.Getenv(env), def), what+"; 0: for ever ("+env+")")
	}
	flag(&r.Deltas, "retain-deltas", "BELAY_RETAIN_DELTAS", "168h", "how long the pieces in which an answer was streamed are kept after its end; the answer stays")
	flag(&r.Runs, "retain-runs", "BELAY_RETAIN_RUNS", "0", "how long a conversation in which nothing happens is kept, with its runs")
	flag(&r.Callbacks, "retain-callbacks", "BELAY_RETAIN_CALLBACKS", "720h", "how long deliveries of callbacks are kept that have arrived or were given up")
	flag(&r.Audit, "retain-audit", "BELAY_RETAIN_AUDIT", "0", "how long the audit log is kept")
}

func (r *retain) check() error {
	_, err := r.rules(nil)
	return err
}

// rules are what retention does with a store.
func (r *retain) rules(store *postgres.Store) ([]retention.Rule, error) {
	var out []retention.Rule
	for _, rule := range []struct {
		name, env, keep string
		expire          retention.Expire
	}{
		{"deltas", "BELAY_RETAIN_DELTAS", r.Deltas, store.TrimDeltas},
		{"runs", "BELAY_RETAIN_RUNS", r.Runs, store.ExpireSessions},
		{"callbacks", "BELAY_RETAIN_CALLBACKS", r.Callbacks, store.ExpireDeliveries},
		{"audit", "BELAY_RETAIN_AUDIT", r.Audit, store.ExpireAudit},
	} {
		d, err := time.ParseDuration(cmp.Or(rule.keep, "0"))
		if err != nil || d < 0 {
			return nil, fmt.Errorf("%s must be a duration like 720h, or 0, not %q", rule.env, rule.keep)
		}
		out = append(out, retention.Rule{Name: rule.name, Keep: d, Expire: rule.expire})
	}
	return out, nil
}
