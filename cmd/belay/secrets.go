package main

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/belayrun/belay/internal/postgres"
)

func secretsCommand() *cobra.Command {
	c := &cobra.Command{Use: "secrets", Short: "Look after the secrets that are stored"}
	c.AddCommand(resealCommand())
	return c
}

func resealCommand() *cobra.Command {
	s := &settings{}
	c := &cobra.Command{
		Use:   "reseal",
		Short: "Seal every stored secret with the first key of BELAY_SECRET_KEY, so that older keys can be dropped",
		Long: `Seal every stored secret, of all projects, with the first key of BELAY_SECRET_KEY.

To rotate keys: put the new key first and the old one behind it, as NEW,OLD, and
restart every node with both; run this, with both; then drop the old key. It is
safe beside running nodes, and running it again does no harm. belay doctor tells
whether a secret is left that needs an old key.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			store, err := openStore(c.Context(), s, slog.New(slog.DiscardHandler))
			if err != nil {
				return err
			}
			defer store.Close()
			counts, err := store.Reseal(c.Context())
			if err != nil {
				return err
			}
			return sayResealed(c.OutOrStdout(), counts)
		},
	}
	s.database(c)
	s.secrets(c)
	return c
}

func sayResealed(out io.Writer, counts []postgres.SecretCount) error {
	total, lost := sumSecrets(counts)
	for _, err := range lost {
		fmt.Fprintln(out, err)
	}
	fmt.Fprintf(out, "%d secrets sealed anew; %d are sealed with the first key\n", total.Resealed, total.Current)
	switch {
	case len(lost) > 0:
		return fmt.Errorf("%d secrets can't be opened: add the key that they were sealed with, or store them anew; keep the old keys until then", len(lost))
	case total.Old > 0:
		return fmt.Errorf("%d secrets are still sealed with an old key, because nodes go on sealing with it: restart them with the new key first, then run this again", total.Old)
	}
	return nil
}

// sumSecrets adds up the counts of all kinds.
func sumSecrets(counts []postgres.SecretCount) (total postgres.SecretCount, unreadable []error) {
	for _, c := range counts {
		total.Current += c.Current
		total.Old += c.Old
		total.Resealed += c.Resealed
		unreadable = append(unreadable, c.Unreadable...)
	}
	return total, unreadable
}
