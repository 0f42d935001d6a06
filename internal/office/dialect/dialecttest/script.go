package dialecttest

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// fixtureKey is the key of a script's Fixture.
type fixtureKey struct{}

// Scripts runs testdata/*.txtar with testscript, each on a Fixture of its own in the script's directory. In addition
// to testscript's commands there are
//
//	register NAME [ROLE|NS:TAG…]      put an agent on the roster
//	state NAME working|idle|frozen|gone
//	retire NAME
//	[!] call AGENT TOOL [JSON]        the answer goes to stdout; ! expects an error, whose text goes to stderr
//	[!] verb WORDS…                   run a verb of the dialect
//	route STATUS METHOD TARGET [BODY] the body of the answer goes to stdout
//	send FROM TO BODY                 send without the dialect; the id goes to stdout
//	bridge [MODE]                     add a bridge to the script's directory
//	sync                              sync room and files
//	stop, start                       stop and start the bridges, as a restart of the post office does
//	inbox NAME                        one line per message: id type from "subject" "body"
//	history                           one line per message, with its addressees
//	advance DURATION                  advance the clock
//	setenv NAME VALUE
func Scripts(t *testing.T, d dialect.Dialect) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			e.Values[fixtureKey{}] = NewIn(e.T().(testing.TB), d, e.WorkDir)
			return nil
		},
		Cmds: commands(),
	})
}

type command = func(ts *testscript.TestScript, neg bool, args []string)

func bedOf(ts *testscript.TestScript) *Fixture { return ts.Value(fixtureKey{}).(*Fixture) }

func commands() map[string]command {
	plain := func(f func(ts *testscript.TestScript, b *Fixture, args []string)) command {
		return func(ts *testscript.TestScript, neg bool, args []string) {
			if neg {
				ts.Fatalf("this command cannot be negated")
			}
			f(ts, bedOf(ts), args)
		}
	}
	presence := func(ts *testscript.TestScript, b *Fixture, p mail.Presence) {
		_, err := b.As(mail.User).Register(b.T.Context(), p)
		ts.Check(err)
	}
	return map[string]command{
		"register": plain(func(_ *testscript.TestScript, b *Fixture, args []string) {
			b.Register(mail.Name(args[0]), args[1:]...)
		}),
		"state": plain(func(ts *testscript.TestScript, b *Fixture, args []string) {
			presence(ts, b, mail.Presence{Name: mail.Name(args[0]), State: mail.State(args[1])})
		}),
		"retire": plain(func(ts *testscript.TestScript, b *Fixture, args []string) {
			ts.Check(b.As(mail.User).Retire(b.T.Context(), mail.Name(args[0])))
		}),
		"call": func(ts *testscript.TestScript, neg bool, args []string) {
			json := ""
			if len(args) > 2 {
				json = args[2]
			}
			out, err := bedOf(ts).Call(mail.Name(args[0]), args[1], json)
			answer(ts, neg, out+"\n", "", err)
		},
		"verb": func(ts *testscript.TestScript, neg bool, args []string) {
			out, errs, err := bedOf(ts).Verb(args...)
			answer(ts, neg, out, errs, err)
		},
		"route": plain(func(ts *testscript.TestScript, b *Fixture, args []string) {
			body := ""
			if len(args) > 3 {
				body = args[3]
			}
			w := b.Route(args[1], args[2], body)
			fmt.Fprint(ts.Stdout(), w.Body)
			if fmt.Sprint(w.Code) != args[0] {
				ts.Fatalf("%s %s: status %d, want %s", args[1], args[2], w.Code, args[0])
			}
		}),
		"send": plain(func(ts *testscript.TestScript, b *Fixture, args []string) {
			fmt.Fprintln(ts.Stdout(),
				b.Send(mail.Name(args[0]), mail.Draft{To: mail.Recipients{args[1]}, Body: args[2]}))
		}),
		"bridge": plain(func(ts *testscript.TestScript, b *Fixture, args []string) {
			var mode mail.BridgeMode
			if len(args) > 0 {
				mode = mail.BridgeMode(args[0])
			}
			fmt.Fprintf(ts.Stdout(), "%+v\n", b.Bridge(mode))
		}),
		"sync": plain(func(ts *testscript.TestScript, b *Fixture, _ []string) {
			fmt.Fprintf(ts.Stdout(), "%+v\n", b.Sync())
		}),
		"stop":  plain(func(_ *testscript.TestScript, b *Fixture, _ []string) { b.Stop() }),
		"start": plain(func(_ *testscript.TestScript, b *Fixture, _ []string) { b.Start() }),
		"inbox": plain(func(ts *testscript.TestScript, b *Fixture, args []string) {
			list(ts.Stdout(), b.Inbox(mail.Name(args[0])), false)
		}),
		"history": plain(func(ts *testscript.TestScript, b *Fixture, _ []string) {
			list(ts.Stdout(), b.History(), true)
		}),
		"advance": plain(func(ts *testscript.TestScript, b *Fixture, args []string) {
			d, err := time.ParseDuration(args[0])
			ts.Check(err)
			b.Advance(d)
		}),
		"setenv": plain(func(_ *testscript.TestScript, b *Fixture, args []string) { b.Env[args[0]] = args[1] }),
	}
}

func answer(ts *testscript.TestScript, neg bool, out, errs string, err error) {
	io.WriteString(ts.Stdout(), out)
	io.WriteString(ts.Stderr(), errs)
	if err != nil {
		fmt.Fprintln(ts.Stderr(), err)
	}
	switch {
	case err != nil && !neg:
		ts.Fatalf("unexpected error: %v", err)
	case err == nil && neg:
		ts.Fatalf("an error was expected")
	}
}

func list(w io.Writer, items []mail.Item, addressees bool) {
	for i := range items {
		it := &items[i]
		fmt.Fprintf(w, "%s %s %s", it.ID, it.Type, it.From)
		if addressees {
			fmt.Fprintf(w, " %v", it.To)
		}
		fmt.Fprintf(w, " %q %q\n", it.Subject, it.Body)
	}
}
