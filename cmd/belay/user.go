package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/belayrun/belay/internal/access"
	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/postgres"
)

func userCommand() *cobra.Command {
	c := &cobra.Command{Use: "user", Short: "Keep the people who sign in to Studio"}
	c.AddCommand(userCreateCommand(), userListCommand(), userPasswordCommand(), userRoleCommand(), userRemoveCommand())
	return c
}

// userOptions are what the user commands take.
type userOptions struct {
	settings
	project, email, name, role string
	stdin                      bool
}

func (o *userOptions) flags(c *cobra.Command, email bool) *cobra.Command {
	o.database(c)
	c.Flags().StringVar(&o.project, "project", "default", "key of the project")
	if email {
		c.Flags().StringVar(&o.email, "email", "", "who (required)")
		must(c.MarkFlagRequired("email"))
	}
	return c
}

// run opens the project's store.
func (o *userOptions) run(c *cobra.Command, fn func(ctx context.Context, store *postgres.Store, project string) error) error {
	return inProject(c.Context(), &o.settings, o.project, func(store *postgres.Store, project string) error {
		return fn(c.Context(), store, project)
	})
}

func userCreateCommand() *cobra.Command {
	o := &userOptions{}
	c := &cobra.Command{
		Use:   "create",
		Short: "Make somebody a member of a project, and an account where there is none; prints a password that was made up",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			password, made := access.NewPassword(), true
			if o.stdin {
				var err error
				if password, err = readPassword(c.InOrStdin()); err != nil {
					return err
				}
				made = false
			}
			return o.run(c, func(ctx context.Context, store *postgres.Store, project string) error {
				m := agent.Member{Project: project, Role: agent.MemberRole(o.role), User: agent.User{Email: o.email, Name: o.name}}
				isNew, err := addMember(ctx, store, m, password)
				switch {
				case errors.Is(err, agent.ErrExists):
					return fmt.Errorf("%s is a member already; change the role with belay user role", o.email)
				case err != nil:
					return err
				case !isNew:
					fmt.Fprintf(c.ErrOrStderr(), "%s has an account already and keeps its password\n", o.email)
				case made:
					fmt.Fprintln(c.OutOrStdout(), password)
				}
				return nil
			})
		},
	}
	c.Flags().StringVar(&o.name, "name", "", "what people call them")
	c.Flags().StringVar(&o.role, "role", string(agent.RoleViewer), "owner, builder, operator or viewer")
	c.Flags().BoolVar(&o.stdin, "password-stdin", false, "read the password from standard input, instead of making one up")
	return o.flags(c, true)
}

func readPassword(in io.Reader) (string, error) {
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && (!errors.Is(err, io.EOF) || line == "") {
		return "", errors.New("--password-stdin: there is no password on standard input")
	}
	return strings.TrimRight(line, "\r\n"), nil
}

// addMember makes a member, and an account with the password where there is none.
func addMember(ctx context.Context, store *postgres.Store, m agent.Member, password string) (isNew bool, err error) {
	if m.Email, err = agent.CheckEmail("--email", m.Email); err != nil {
		return false, err
	}
	for _, err := range []error{agent.CheckRole("--role", m.Role), agent.CheckName("--name", m.Name), agent.CheckPassword("password", password)} {
		if err != nil {
			return false, err
		}
	}
	hash, err := access.NewPasswords().Hash(ctx, password)
	if err != nil {
		return false, err
	}
	m.ID = agent.NewID()
	_, isNew, err = store.AddMember(ctx, m, hash)
	return isNew, err
}

func userListCommand() *cobra.Command {
	o := &userOptions{}
	return o.flags(&cobra.Command{
		Use:   "list",
		Short: "List a project's members",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return o.run(c, func(ctx context.Context, store *postgres.Store, project string) error {
				list, err := store.Members(ctx, project)
				if err != nil {
					return err
				}
				w := tabwriter.NewWriter(c.OutOrStdout(), 0, 4, 2, ' ', 0)
				fmt.Fprintln(w, "EMAIL\tROLE\tNAME\tLAST SIGN-IN")
				for _, m := range list {
					last := "never"
					if !m.LastSignInAt.IsZero() {
						last = m.LastSignInAt.UTC().Format("2006-01-02 15:04")
					}
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", m.Email, m.Role, m.Name, last)
				}
				return w.Flush()
			})
		},
	}, false)
}

func userPasswordCommand() *cobra.Command {
	o := &userOptions{}
	c := &cobra.Command{
		Use:   "password",
		Short: "Give somebody a new password and end all their sign-ins; prints it if it was made up",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			password := access.NewPassword()
			if o.stdin {
				var err error
				if password, err = readPassword(c.InOrStdin()); err != nil {
					return err
				}
			}
			if err := agent.CheckPassword("password", password); err != nil {
				return err
			}
			return o.onUser(c, func(ctx context.Context, store *postgres.Store, _ string, u agent.User) error {
				hash, err := access.NewPasswords().Hash(ctx, password)
				if err == nil {
					err = store.SetPassword(ctx, u.ID, hash, nil)
				}
				if err == nil && !o.stdin {
					fmt.Fprintln(c.OutOrStdout(), password)
				}
				return err
			})
		},
	}
	c.Flags().BoolVar(&o.stdin, "password-stdin", false, "read the password from standard input, instead of making one up")
	return o.flags(c, true)
}

// onUser finds the user of --email.
func (o *userOptions) onUser(c *cobra.Command, fn func(ctx context.Context, store *postgres.Store, project string, u agent.User) error) error {
	return o.run(c, func(ctx context.Context, store *postgres.Store, project string) error {
		u, _, err := store.UserByEmail(ctx, strings.ToLower(strings.TrimSpace(o.email)))
		if err == nil {
			err = fn(ctx, store, project, u)
		}
		if errors.Is(err, agent.ErrNotFound) {
			return fmt.Errorf("--email: there is no %s here", o.email)
		}
		return err
	})
}

func userRoleCommand() *cobra.Command {
	o := &userOptions{}
	c := &cobra.Command{
		Use:   "role",
		Short: "Give a member another role",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			role := agent.MemberRole(o.role)
			if err := agent.CheckRole("--role", role); err != nil {
				return err
			}
			return o.onUser(c, func(ctx context.Context, store *postgres.Store, project string, u agent.User) error {
				_, err := store.SetRole(ctx, project, u.ID, role)
				return err
			})
		},
	}
	c.Flags().StringVar(&o.role, "role", "", "owner, builder, operator or viewer (required)")
	must(c.MarkFlagRequired("role"))
	return o.flags(c, true)
}

func userRemoveCommand() *cobra.Command {
	o := &userOptions{}
	return o.flags(&cobra.Command{
		Use:   "remove",
		Short: "End a membership; the account and what it did stay",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return o.onUser(c, func(ctx context.Context, store *postgres.Store, project string, u agent.User) error {
				return store.RemoveMember(ctx, project, u.ID)
			})
		},
	}, true)
}
