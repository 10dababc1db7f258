package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/belayrun/belay/internal/manifest"
	"github.com/belayrun/belay/internal/postgres"
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
			m, err := manifest.Read(name, in, manifest.Options{Open: beside(file)})
			if err != nil {
				return err
			}
			return inProject(c.Context(), s, project, func(store *postgres.Store, id string) error {
				if err := checkTools(c.Context(), s, store, id, m); err != nil {
					return err
				}
				m.By = operator().By
				changes, err := manifest.Apply(c.Context(), store, id, m, dryRun)
				for _, ch := range changes {
					fmt.Fprintln(c.OutOrStdout(), ch)
				}
				return err
			})
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

// beside opens files relative to the directory of a manifest, those of standard
// input relative to the current one.
func beside(file string) func(string) (io.ReadCloser, error) {
	return func(name string) (io.ReadCloser, error) {
		if !filepath.IsAbs(name) && file != "-" {
			name = filepath.Join(filepath.Dir(file), name)
		}
		return os.Open(name)
	}
}
