package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pennypost/internal/fence"
	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// The exit statuses. They are part of the interface: a script may depend on them.
const (
	exitDone        = 0
	ExitFailed      = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitTimeout     = 4
	exitRefused     = 5
	ExitUnreachable = 6
)

// exitStatus is the command line's table of codes.
func exitStatus(err error) int {
	status, known := map[mail.Code]int{
		"": exitDone, mail.Invalid: exitUsage, mail.NotFound: exitNotFound, mail.Timeout: exitTimeout,
		mail.Denied: exitRefused, mail.Unconfirmed: exitRefused, mail.Unknown: exitRefused, mail.Conflict: exitRefused,
		mail.TooLarge: exitRefused, mail.Limited: exitRefused, mail.Unavailable: ExitUnreachable,
	}[mail.CodeOf(err)]
	if !known {
		return ExitFailed
	}
	return status
}

// Hint is an error with the command to type next.
type Hint struct {
	error
	next string
}

func (h *Hint) Unwrap() error { return h.error }

// Hinted returns err with the command to type next.
func Hinted(err error, next string) error { return &Hint{err, next} }

// HintedIf returns err, with the command to type next if err has this code.
func HintedIf(code mail.Code, err error, next string) error {
	if mail.CodeOf(err) == code {
		return Hinted(err, next)
	}
	return err
}

// Silent ends the command with an exit status after it has reported everything.
type Silent int

func (s Silent) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// failure is an error in JSON.
type failure struct {
	Error failureText `json:"error"`
}

type failureText struct {
	Code    mail.Code `json:"code"`
	Message string    `json:"message"`
	Hint    string    `json:"hint,omitempty"`
}

// finish reports err on standard error and returns the exit status.
func (a *App) finish(err error) int {
	if err == nil {
		return exitDone
	}
	if s, ok := errors.AsType[Silent](err); ok {
		return int(s)
	}
	if errors.Is(err, context.Canceled) {
		return ExitFailed // the person pressed ^C and knows
	}
	if a.Out != nil && errors.Is(a.Out.err, syscall.EPIPE) {
		return ExitFailed // the reader has gone, as head does
	}
	code, text, next := mail.CodeOf(err), err.Error(), a.NextStep(err)
	if code == mail.Unavailable && a.Env.Getenv("CODEX_SANDBOX_NETWORK_DISABLED") != "" {
		next = "Codex's sandbox does not let commands connect; use the tools of the MCP server pennypost: " +
			"send_message, read_messages, mark_messages"
	}
	// it may contain a name that another agent chose
	a.complain("pennypost: ", fence.Text(Visible(text)))
	if next != "" {
		a.complain("hint: ", Visible(next))
	}
	if a.JSON {
		if b, err := fence.JSON(failure{failureText{code, text, next}}); err == nil {
			fmt.Fprintf(a.Env.Stderr, "%s\n", b)
		}
	}
	return exitStatus(err)
}

// complain writes text to standard error, after begins, with further lines indented to match.
func (a *App) complain(begins, text string) {
	p := Printer{To: a.Env.Stderr, Wide: wideness(a.Env.Stderr, a.Env)}
	for line := range strings.SplitSeq(text, "\n") {
		for _, part := range p.wrap(line, len(begins)) {
			p.Write(begins + part + "\n")
			begins = strings.Repeat(" ", len(begins))
		}
	}
}

// NextStep returns the command to type after err.
func (a *App) NextStep(err error) string {
	if h, ok := errors.AsType[*Hint](err); ok {
		return h.next
	}
	const later = "wait a little and try again"
	next := map[mail.Code]string{
		mail.NotFound: "see pennypost agents, pennypost rooms and pennypost history",
		mail.Denied: "an agent identifies itself with --as NAME; for acts of the user, the person needs a shell " +
			"of their own",
		mail.Unknown: "pennypost agents token NAME makes a new token", mail.Limited: later, mail.Timeout: later,
		mail.Unavailable: "pennypost status",
		mail.Internal:    "the log of the post office may say more; pennypost status shows its home",
	}[mail.CodeOf(err)]
	return cmp.Or(next, strings.TrimSpace("pennypost "+a.Asked)+" --help")
}

// Usage is an error in how the command was typed.
func Usage(format string, args ...any) error { return mail.Errorf(mail.Invalid, format, args...) }

func unknownVerb(word string) error {
	names := []string{"help"}
	for _, v := range verbs() {
		if v.group != "" || v.Short != "" {
			names = append(names, v.Name)
		}
	}
	return misspelt(Usage("there is no command %q", word), word, names, "did you mean: pennypost %s",
		"pennypost --help lists the commands")
}

// misspelt adds to err a hint: a sentence with the nearest name, or else the command that lists the names.
func misspelt(err error, word string, names []string, meant, lists string) error {
	if near := policy.Nearest(word, names, 1); len(near) > 0 {
		lists = fmt.Sprintf(meant, near[0])
	}
	return Hinted(err, lists)
}

// unknownBelow returns the error for a subcommand that cmd does not have.
func unknownBelow(cmd *cobra.Command, word string) error {
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return misspelt(Usage("%s has no command %q", cmd.CommandPath(), word), word, names,
		"did you mean: "+cmd.CommandPath()+" %s", cmd.CommandPath()+" --help lists the commands")
}

// badFlag turns an error of the flag parser into one of ours.
func (a *App) badFlag(cmd *cobra.Command, err error) error {
	if errors.Is(err, pflag.ErrHelp) {
		return err
	}
	if args := cmd.Flags().Args(); cmd.HasSubCommands() && len(args) > 0 {
		if !cmd.HasParent() {
			return unknownVerb(args[0])
		}
		return unknownBelow(cmd, args[0]) // the flags belong to a misspelt command
	}
	// the rest is for programmers
	words, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "pflag: "), ": strconv.")
	bad, help := Usage("%s", words), strings.TrimSpace(cmd.CommandPath())+" --help"
	missing, ok := errors.AsType[*pflag.NotExistError](err)
	switch {
	case ok && missing.GetSpecifiedShortnames() != "":
		bad = Usage("there is no flag -%s", missing.GetSpecifiedName())
	case ok:
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		})
		word := missing.GetSpecifiedName()
		return misspelt(Usage("there is no flag --%s", word), word, names, "did you mean --%s?", help)
	}
	return Hinted(bad, help)
}

// GroupRun runs a command that only groups others.
func GroupRun(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return unknownBelow(cmd, args[0])
	}
	return cmd.Help()
}

// NoArgs refuses arguments.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 && cmd.HasSubCommands() {
		return unknownBelow(cmd, args[0])
	}
	if len(args) > 0 {
		return Usage("%s takes no argument: %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// SomeArgs requires at least one argument.
func SomeArgs(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return Usage("%s needs %s", cmd.CommandPath(), what)
		}
		return nil
	}
}

// NArgs requires exactly n arguments.
func NArgs(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return Usage("%s needs %s", cmd.CommandPath(), what)
		}
		return nil
	}
}

// Interruptible returns a context that ends when the person presses ^C or the system terminates the process.
func Interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
}
