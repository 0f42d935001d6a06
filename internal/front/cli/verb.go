package cli

import (
	"context"

	"github.com/spf13/cobra"

	"pennypost/internal/wire/client"
)

// A Flag is a flag of a verb. It sets a variable, whose initial value is the default.
type Flag struct {
	Into     any // a *string, *bool, *int, *int64, *uint64 or *[]string, whose values may be joined by commas
	Name     string
	About    string
	Each     bool // of a list: each value needs a flag of its own, and may contain commas
	Complete cobra.CompletionFunc
}

// WithFlags returns a command with its flags.
func WithFlags(cmd *cobra.Command, flags ...Flag) *cobra.Command {
	set := cmd.Flags()
	for _, f := range flags {
		switch into := f.Into.(type) {
		case *string:
			set.StringVar(into, f.Name, *into, f.About)
		case *bool:
			set.BoolVar(into, f.Name, *into, f.About)
		case *int:
			set.IntVar(into, f.Name, *into, f.About)
		case *int64:
			set.Int64Var(into, f.Name, *into, f.About)
		case *uint64:
			set.Uint64Var(into, f.Name, *into, f.About)
		case *[]string:
			if f.Each {
				set.StringArrayVar(into, f.Name, *into, f.About)
			} else {
				set.StringSliceVar(into, f.Name, *into, f.About)
			}
		default:
			panic("cli: --" + f.Name + " goes into a variable of another type")
		}
		if f.Complete != nil {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, f.Complete)
		}
	}
	return cmd
}

// OneOf completes a flag whose value is one of these words.
func OneOf[S ~string](words ...S) cobra.CompletionFunc {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = string(w)
	}
	return cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)
}

// Run runs a function that needs no arguments.
func Run(do func(context.Context) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error { return do(cmd.Context()) }
}

// RunOne runs a function on the command's one argument.
func RunOne(do func(ctx context.Context, arg string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error { return do(cmd.Context(), args[0]) }
}

// RunWith runs a function on the command's flags.
func RunWith[F any](do func(ctx context.Context, flags F) error, flags *F) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error { return do(cmd.Context(), *flags) }
}

// RunAt runs a function on the value that door returns: App.Service gives the command's room, AtOffice the post
// office.
func RunAt[At any](door func(context.Context) (At, error),
	do func(ctx context.Context, at At, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		at, err := door(cmd.Context())
		if err != nil {
			return err
		}
		return do(cmd.Context(), at, args)
	}
}

// AtOffice returns the post office, as Post does.
func (a *App) AtOffice(context.Context) (*client.Office, error) { return a.Post() }

// Answer prints a verb's answer: as JSON with --json, else with show.
func Answer[T any](a *App, got T, err error, show func(T) error) error {
	switch {
	case err != nil:
		return err
	case a.JSON:
		a.Out.Value(got)
		return nil
	}
	return show(got)
}

// Ask puts a query to the value that door returns, and prints the answer.
func Ask[At, Q, T any](ctx context.Context, a *App, door func(context.Context) (At, error),
	ask func(At, context.Context, Q) (T, error), q Q, show func(T) error) error {
	at, err := door(ctx)
	if err != nil {
		return err
	}
	got, err := ask(at, ctx, q)
	return Answer(a, got, err, show)
}

// Said answers a verb that has little to say: v with --json, else a line.
func (a *App) Said(err error, v any, format string, args ...any) error {
	return Answer(a, v, err, func(any) error {
		a.Out.Line(format, args...)
		return nil
	})
}
