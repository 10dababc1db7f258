package main

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/belayrun/belay/internal/manifest"
)

func applyCommand() *cobra.Command {
	s := &settings{}
	var file, project string
	var dryRun bool
	c := &cobra.Command{
		Use:   "apply",
		Short: "Make or change models, tools and agents as a YAML file declares them; agents are published",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			in, name := os.Stdin, "stdin"
			if file != "-" {
				f, err := os.Open(file)
				if err != nil {
					return fmt.Errorf("-f: %w", err)
				}
				defer f.Close()
				in, name = f, file
			}
			m, err := manifest.Parse(name, in, nil)
			if err != nil {
				return err
			}
			store, err := openStore(c.Context(), s, slog.New(slog.DiscardHandler))
			if err != nil {
				return err
			}
			defer store.Close()
			id, err := projectID(c.Context(), store, project)
			if err != nil {
				return err
			}
			if err := checkTools(c.Context(), s, store, id, m); err != nil {
				return err
			}
			changes, err := manifest.Apply(c.Context(), store, id, m, dryRun)
			if err != nil {
				return err
			}
			for _, ch := range changes {
				fmt.Fprintln(c.OutOrStdout(), ch)
			}
			return nil
		},
	}
	s.database(c)
	s.secrets(c)
	s.reaching(c)
	c.Flags().StringVarP(&file, "file", "f", "", "the file, - for standard input (required)")
	c.Flags().StringVar(&project, "project", "default", "key of the project")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "say what would change and change nothing")
	must(c.MarkFlagRequired("file"))
	return c
}
