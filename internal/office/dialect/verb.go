package dialect

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// Verb is a command that the protocol's users know.
type Verb struct {
	Path    string // the words after the dialect's name: "mailbox send"
	Short   string // one line of help
	Long    string
	Example string
	Args    string // arguments in the usage line: "ID DIR"
	MinArgs int
	MaxArgs int // -1: any number
	Flags   []Flag
	// Writes means that the verb changes something, and so needs the bridge of Dialect.InProject.
	Writes bool
	Run    func(ctx context.Context, v *Invocation) error
}

// FlagKind is the kind of a flag's value.
type FlagKind int

// The kinds of flags.
const (
	Text   FlagKind = iota // --name VALUE
	Switch                 // --name
	Number                 // --name 5
)

// Flag is a flag of a verb, in addition to those of every command (--room, --as, --json, --help).
type Flag struct {
	Name     string
	Usage    string // `VALUE` in back quotes names the value
	Kind     FlagKind
	Default  string
	Required bool
}

// Invocation is one run of a verb.
type Invocation struct {
	Args   []string
	Values map[string]string // flags by name, defaults filled in
	Given  map[string]bool   // flags that were given

	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Fenced is standard output for text that package fence has rendered. For an agent, Stdout escapes everything,
	// even fences.
	Fenced  io.Writer
	JSON    bool   // --json was given
	Dir     string // where the command runs
	Project string // project root around Dir, which holds the files of an InProject dialect
	Getenv  func(string) string
	Now     time.Time

	// Caller returns the agent for which the command speaks: --as, $PENNYPOST_AGENT, Identify's answer, else the
	// user. It is an error if an agent's process would be the user.
	Caller func(ctx context.Context) (mail.Name, error)
	// As returns the room as name sees it, and starts the post office if necessary. An agent's process cannot be the
	// user.
	As func(ctx context.Context, name mail.Name) (mail.Service, error)
	// Program returns the agent's client that started the command, or else another program, in the form of package
	// process; "" if it is unknown.
	Program func() string
	// Address returns the post office's HTTP address, or "" if it has none.
	Address func(ctx context.Context) (string, error)
	// Install sets up a client working in dir to use Pennypost as an agent of a room, and returns the actions, one
	// per line.
	Install func(client, dir string, as mail.Name, room mail.RoomName) ([]string, error)
	// Bridge adds a bridge of this dialect to a directory, if the room has none there, and returns its status. Only
	// the user may do this.
	Bridge func(ctx context.Context, dir string, mode mail.BridgeMode) (mail.BridgeStatus, error)
}

// Text returns the value of a flag.
func (v *Invocation) Text(name string) string { return v.Values[name] }

// Switch reports whether a switch was given.
func (v *Invocation) Switch(name string) bool { return v.Values[name] == "true" }

// Number returns the value of a Number flag, which the command line has checked.
func (v *Invocation) Number(name string) int {
	n, _ := strconv.Atoi(v.Values[name])
	return n
}

// Path returns a typed path as an absolute one, relative to the command's directory.
func (v *Invocation) Path(typed string) string {
	if filepath.IsAbs(typed) {
		return filepath.Clean(typed)
	}
	return filepath.Join(v.Dir, typed)
}

// Piped returns a typed text or, if it is "-", standard input without its last newline. Of input that is too long it
// returns just enough to exceed a message's limit.
func (v *Invocation) Piped(typed string) (string, error) {
	if typed != "-" {
		return typed, nil
	}
	text, err := io.ReadAll(io.LimitReader(v.Stdin, mail.MaxBody+2))
	return strings.TrimSuffix(string(text), "\n"), err
}

// Room returns the room as the caller sees it, and the caller.
func (v *Invocation) Room(ctx context.Context) (mail.Service, mail.Name, error) {
	who, err := v.Caller(ctx)
	if err != nil {
		return nil, "", err
	}
	svc, err := v.As(ctx, who)
	return svc, who, err
}

// ForUser returns the Run of a verb that only the user may use.
func ForUser(run func(ctx context.Context, v *Invocation, svc mail.Service) error) func(context.Context,
	*Invocation) error {
	return func(ctx context.Context, v *Invocation) error {
		svc, err := v.As(ctx, mail.User)
		if err != nil {
			return err
		}
		return run(ctx, v, svc)
	}
}

// Say prints a verb's result: value with --json, else a line of text.
func (v *Invocation) Say(value any, words string, args ...any) error {
	if v.JSON {
		return v.WriteJSON(value)
	}
	_, err := fmt.Fprintf(v.Stdout, words+"\n", args...)
	return err
}

// WriteJSON prints a value on one line.
func (v *Invocation) WriteJSON(value any) error {
	line, err := jsonx.Marshal(value)
	if err != nil {
		return err
	}
	_, err = v.Stdout.Write(append(line, '\n'))
	return err
}
