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

// Verb is a command that the protocol's people know.
type Verb struct {
	Path    string // the words behind the dialect's name: "mailbox send"
	Short   string // one line of help
	Long    string
	Example string
	Args    string // what stands behind the flags, for the usage line: "ID DIR"
	MinArgs int
	MaxArgs int // -1: any number
	Flags   []Flag
	// Writes says that the verb changes something, and so wants the bridge of Dialect.InProject.
	Writes bool
	Run    func(ctx context.Context, v *Invocation) error
}

// FlagKind is what a flag takes.
type FlagKind int

// The kinds of flags.
const (
	Text   FlagKind = iota // --name VALUE
	Switch                 // --name
	Number                 // --name 5
)

// Flag is a flag of a verb. The flags of every command (--room, --as, --json, --help) are there anyway.
type Flag struct {
	Name     string
	Usage    string // `VALUE` in back quotes names what it takes
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
	// Fenced is standard output for what package fence has rendered. What an agent gets by Stdout is made harmless on
	// its way, fences too.
	Fenced  io.Writer
	JSON    bool   // --json was given
	Dir     string // where the command runs
	Project string // root of the project around Dir: where files of an InProject dialect lie
	Getenv  func(string) string
	Now     time.Time

	// Caller is as whom the command speaks: --as, $PENNYPOST_AGENT, what Identify found, else the user. It is an error
	// if an agent's process would be the user.
	Caller func(ctx context.Context) (mail.Name, error)
	// As returns the room as name sees it, starting the post office if it does not run. The user is refused to an
	// agent's process.
	As func(ctx context.Context, name mail.Name) (mail.Service, error)
	// Program returns the agent's client that has started the command, or another program if none has, as package
	// process names it. "": nobody can tell.
	Program func() string
	// Address returns where the post office is reached over HTTP, "" if it is not.
	Address func(ctx context.Context) (string, error)
	// Install makes an agents' client that works in dir use Pennypost there as an agent of a room, and returns what
	// was done, line by line.
	Install func(client, dir string, as mail.Name, room mail.RoomName) ([]string, error)
	// Bridge adds a bridge of this dialect to a directory, if the room has none there, and returns how it fares. Only
	// the user may.
	Bridge func(ctx context.Context, dir string, mode mail.BridgeMode) (mail.BridgeStatus, error)
}

// Text returns the value of a flag.
func (v *Invocation) Text(name string) string { return v.Values[name] }

// Switch returns whether a switch was given.
func (v *Invocation) Switch(name string) bool { return v.Values[name] == "true" }

// Number returns the value of a number; the command line has checked that it is one.
func (v *Invocation) Number(name string) int {
	n, _ := strconv.Atoi(v.Values[name])
	return n
}

// Path returns what a path means that was typed: it begins where the command runs.
func (v *Invocation) Path(typed string) string {
	if filepath.IsAbs(typed) {
		return filepath.Clean(typed)
	}
	return filepath.Join(v.Dir, typed)
}

// Piped returns a text that was typed or, if it is "-", what standard input says, without the end of its last line. Of
// what is longer than a message may be it returns too much for one, and not all.
func (v *Invocation) Piped(typed string) (string, error) {
	if typed != "-" {
		return typed, nil
	}
	text, err := io.ReadAll(io.LimitReader(v.Stdin, mail.MaxBody+2))
	return strings.TrimSuffix(string(text), "\n"), err
}

// Room returns the room as the caller sees it, and who that is.
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

// Say prints what a verb has to say: value with --json, else a line of words.
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
