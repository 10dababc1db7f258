package main

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/belayrun/belay/internal/access"
	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/postgres"
)

// defaultPermissions are a caller's: it runs agents and acts on its own sessions.
var defaultPermissions = []agent.Permission{agent.PermAgentView, agent.PermAgentRun}

func tokenCommand() *cobra.Command {
	c := &cobra.Command{Use: "token", Short: "Make, list and revoke API tokens"}
	c.AddCommand(tokenCreateCommand(), tokenListCommand(), tokenRevokeCommand())
	return c
}

func tokenListCommand() *cobra.Command {
	s := &settings{}
	var project string
	c := &cobra.Command{
		Use:   "list",
		Short: "List a project's API tokens: id, prefix, state, permissions, name",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return inProject(c.Context(), s, project, func(store *postgres.Store, id string) error {
				tokens, err := store.Tokens(c.Context(), id)
				out := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
				for _, t := range tokens {
					fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\n", t.ID, t.Prefix, tokenState(t, time.Now()), join(t.Permissions), t.Name)
				}
				return errors.Join(err, out.Flush())
			})
		},
	}
	s.database(c)
	c.Flags().StringVar(&project, "project", "default", "key of the project")
	return c
}

func tokenState(t agent.Token, now time.Time) string {
	switch {
	case !t.RevokedAt.IsZero():
		return "revoked"
	case !t.ExpiresAt.IsZero() && t.ExpiresAt.Before(now):
		return "expired"
	}
	return "valid"
}

func tokenRevokeCommand() *cobra.Command {
	s := &settings{}
	var project string
	c := &cobra.Command{
		Use:   "revoke ID",
		Short: "End an API token for good; belay token list shows the ids",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return inProject(c.Context(), s, project, func(store *postgres.Store, id string) error {
				tokens, err := store.Tokens(c.Context(), id)
				if err != nil {
					return err
				}
				if !slices.ContainsFunc(tokens, func(t agent.Token) bool { return t.ID == args[0] }) {
					return fmt.Errorf("there is no token %q in project %s; belay token list shows the ids", args[0], project)
				}
				return store.RevokeToken(c.Context(), id, args[0], operator())
			})
		},
	}
	s.database(c)
	c.Flags().StringVar(&project, "project", "default", "key of the project")
	return c
}

func tokenCreateCommand() *cobra.Command {
	s := &settings{}
	var project, name, permissions string
	var expires time.Duration
	c := &cobra.Command{
		Use:   "create",
		Short: "Make an API token and print it, alone, on stdout: it is shown this once",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			perms, err := parsePermissions(permissions)
			if err != nil {
				return err
			}
			t := agent.Token{Name: name, Permissions: perms}
			if expires > 0 {
				t.ExpiresAt = time.Now().Add(expires)
			}
			return inProject(c.Context(), s, project, func(store *postgres.Store, id string) error {
				t.Project = id
				secret, err := createToken(c.Context(), store, t)
				if err == nil {
					fmt.Fprintln(c.OutOrStdout(), secret)
				}
				return err
			})
		},
	}
	s.database(c)
	c.Flags().StringVar(&project, "project", "default", "key of the project that the token sees")
	c.Flags().StringVar(&name, "name", "", "what the token is for (required)")
	c.Flags().StringVar(&permissions, "permissions", "", "comma-separated; all for every permission; default "+join(defaultPermissions))
	c.Flags().DurationVar(&expires, "expires", 0, "how long it is valid, like 720h; default for ever")
	must(c.MarkFlagRequired("name"))
	return c
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func createToken(ctx context.Context, store *postgres.Store, t agent.Token) (string, error) {
	if strings.TrimSpace(t.Name) == "" {
		return "", errors.New("--name: must not be empty")
	}
	secret, hash, prefix := access.NewToken()
	t.ID, t.Prefix = agent.NewID(), prefix
	return secret, store.CreateToken(ctx, t, hash, operator())
}

// operator is who works on the database from this machine's command line.
func operator() agent.Actor {
	by := agent.Actor{By: "cli", Door: agent.DoorCLI}
	if u, err := user.Current(); err == nil {
		by.By = "cli:" + u.Username
	}
	return by
}

func parsePermissions(list string) ([]agent.Permission, error) {
	switch list {
	case "":
		return defaultPermissions, nil
	case "all":
		return agent.Permissions, nil
	}
	var out []agent.Permission
	for p := range strings.SplitSeq(list, ",") {
		p := agent.Permission(strings.TrimSpace(p))
		if !slices.Contains(agent.Permissions, p) {
			return nil, fmt.Errorf("--permissions: there is no permission %q; there are: %s", p, join(agent.Permissions))
		}
		out = append(out, p)
	}
	return out, nil
}

func join(perms []agent.Permission) string {
	var out []string
	for _, p := range perms {
		out = append(out, string(p))
	}
	return strings.Join(out, ", ")
}
