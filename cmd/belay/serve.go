package main

import (
	"os"

	"github.com/spf13/cobra"
)

func serveCommand() *cobra.Command {
	s := &settings{}
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run one node of a cluster; SIGTERM drains it",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			log, err := newLog(s)
			if err != nil {
				return err
			}
			fl := newFlight(os.TempDir(), log)
			defer fl.close()
			n, err := newNode(c.Context(), s, fl, log)
			if err != nil {
				return err
			}
			return n.run(c.Context())
		},
	}
	s.database(c)
	s.secrets(c)
	s.serving(c, ":8080")
	return c
}
