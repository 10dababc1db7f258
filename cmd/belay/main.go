// Command belay runs agent turns that really stop: see README.md.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := execute(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "belay:", err)
		os.Exit(1)
	}
}

// execute runs one command line. It returns when the command has ended and
// nothing of it runs any more.
func execute(ctx context.Context, args []string, out, errs io.Writer) error {
	root := newRoot(out, errs)
	root.SetArgs(args)
	return root.ExecuteContext(ctx)
}

func newRoot(out, errs io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:           "belay",
		Short:         "Agent runs whose Stop really stops",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetOut(out)
	root.SetErr(errs)
	root.AddCommand(devCommand(), serveCommand(), migrateCommand(), applyCommand(), tokenCommand(), userCommand(), secretsCommand(), mockModelCommand(), doctorCommand(), benchCommand())
	return root
}
