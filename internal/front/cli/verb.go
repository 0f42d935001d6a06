package cli

import (
	"context"

	"github.com/spf13/cobra"

	"pennypost/internal/mail"
	"pennypost/internal/wire/client"
)

// A Flag is a flag of a verb. It goes into a variable, whose value before is the default.
type Flag struct {
	into        any
	name, usage string
	each        bool // one value at a time: a comma belongs to it
	complete    []cobra.CompletionFunc
}

// NewFlag returns a flag, and what completes it if something does. Of a list, several values may be joined by commas.
func NewFlag[T string | bool | int | int64 | uint64 | []string](into *T, name, usage string,
	complete ...cobra.CompletionFunc) Flag {
	return Flag{into: into, name: name, usage: usage, complete: complete}
}

// EachFlag returns a flag that is given once for each value, in which commas may be.
func EachFlag(into *[]string, name, usage string, complete ...cobra.CompletionFunc) Flag {
	return Flag{into: into, name: name, usage: usage, complete: complete, each: true}
}

// WithFlags returns a command with its flags.
func WithFlags(cmd *cobra.Command, flags ...Flag) *cobra.Command {
	set := cmd.Flags()
	for _, f := range flags {
		switch into := f.into.(type) {
		case *string:
			set.StringVar(into, f.name, *into, f.usage)
		case *bool:
			set.BoolVar(into, f.name, *into, f.usage)
		case *int:
			set.IntVar(into, f.name, *into, f.usage)
		case *int64:
			set.Int64Var(into, f.name, *into, f.usage)
		case *uint64:
			set.Uint64Var(into, f.name, *into, f.usage)
		case *[]string:
			if f.each {
				set.StringArrayVar(into, f.name, *into, f.usage)
			} else {
				set.StringSliceVar(into, f.name, *into, f.usage)
			}
		}
		for _, complete := range f.complete {
			_ = cmd.RegisterFlagCompletionFunc(f.name, complete)
		}
	}
	return cmd
}

// OneOf completes a flag that takes one of these words.
func OneOf[S ~string](words ...S) cobra.CompletionFunc {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = string(w)
	}
	return cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)
}

// Run has a command do what needs nothing of its arguments.
func Run(do func(context.Context) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error { return do(cmd.Context()) }
}

// RunOne has a command do something with its one argument.
func RunOne(do func(ctx context.Context, arg string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error { return do(cmd.Context(), args[0]) }
}

// RunWith has a command do what its flags say.
func RunWith[F any](do func(ctx context.Context, flags F) error, flags *F) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error { return do(cmd.Context(), *flags) }
}

// Answer answers a verb with what was got: with --json as it is, else as show prints it.
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

// AskRoom asks the room that the command means, and answers with that.
func AskRoom[Q, T any](ctx context.Context, a *App, ask func(mail.Service, context.Context, Q) (T, error), q Q,
	show func(T) error) error {
	svc, err := a.Service(ctx)
	if err != nil {
		return err
	}
	got, err := ask(svc, ctx, q)
	return Answer(a, got, err, show)
}

// AskOffice asks the post office, and answers with that.
func AskOffice[Q, T any](ctx context.Context, a *App, ask func(*client.Office, context.Context, Q) (T, error), q Q,
	show func(T) error) error {
	office, err := a.Post()
	if err != nil {
		return err
	}
	got, err := ask(office, ctx, q)
	return Answer(a, got, err, show)
}

// Said answers a verb that has little to say: v with --json, else a line.
func (a *App) Said(err error, v any, format string, args ...any) error {
	return Answer(a, v, err, func(any) error {
		a.Out.Line(format, args...)
		return nil
	})
}
