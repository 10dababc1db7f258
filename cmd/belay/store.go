package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/postgres"
)

// openStore connects to a migrated database.
func openStore(ctx context.Context, s *settings, log *slog.Logger) (*postgres.Store, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	host, _ := os.Hostname()
	cfg := postgres.Config{URL: s.DatabaseURL, Node: cmp.Or(s.Node, host), Logger: log}
	if sealer, err := s.sealer(); err != nil {
		return nil, err
	} else if sealer != nil {
		cfg.Sealer = sealer
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	store, err := postgres.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := store.CheckMigrated(ctx); err != nil {
		store.Close()
		return nil, fmt.Errorf("%w; run: belay migrate", err)
	}
	return store, nil
}

// inProject opens the store for a command that acts on one project.
func inProject(ctx context.Context, s *settings, key string, fn func(store *postgres.Store, project string) error) error {
	store, err := openStore(ctx, s, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer store.Close()
	id, err := store.Project(ctx, key)
	if errors.Is(err, agent.ErrNotFound) {
		return fmt.Errorf("--project: there is no project %q", key)
	}
	if err != nil {
		return err
	}
	return fn(store, id)
}

func migrateCommand() *cobra.Command {
	s := &settings{}
	c := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database's schema up to date; safe from many nodes at once",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := s.check(); err != nil {
				return err
			}
			from, to, err := postgres.Migrate(c.Context(), s.DatabaseURL)
			if err != nil {
				return err
			}
			if from == to {
				fmt.Fprintf(c.OutOrStdout(), "up to date at version %d\n", to)
				return nil
			}
			fmt.Fprintf(c.OutOrStdout(), "migrated from version %d to %d\n", from, to)
			return nil
		},
	}
	s.database(c)
	return c
}
