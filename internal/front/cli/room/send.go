package room

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/wording"
	"pennypost/internal/config"
	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

const sendHelp = `Send a message. It is on the disk when the command returns.

An address is agent:NAME, role:ROLE, orchestrator, a tag such as project:parser, all, user, or the bare
name of an agent. If you give several addresses, each recipient gets the message once. ADDRESS@ROOM is in
another room. Further addresses may follow as arguments.

The body comes from --body, from the last argument if that is not an address (it contains a space, or no
agent has that name), or from standard input. The type decides who is woken; the default is custom, with
--option question, and with --verdict review-result. The types are
%s.

The answer names each recipient, how far the message has got, and whether the recipient will be woken.`

const sendExamples = `pennypost send builder "Please rebase."
pennypost send --to builder --type task-assigned --subject Parser --body "Write it."
git diff | pennypost send --to role:reviewer --type review-request --subject "Please look"
pennypost send --to user --subject Indent --body "Tabs or spaces?" --option Tabs --option Spaces
pennypost send --to builder --reply-to msg_V1StGXR8_Z5jdHi6B-myT --verdict approved --body "Good."
pennypost send builder --in 2h "Is the deploy through?"
pennypost send all --every "0 9 * * mon-fri" "What do you work on today?"
pennypost send --to orchestrator --type task-done --reply-to msg_V1StGXR8_Z5jdHi6B-myT --body Done.`

type sendFlags struct {
	draft    mail.Draft
	body     string
	to       []string
	last     bool // the last of to was last on the command line, where the text may be
	urgent   bool
	ttl      string
	metadata string
	options  []string
	verdict  string
	docs     []string
	present  bool
	later    laterFlags
}

func newSend(a *app) *cobra.Command {
	var f sendFlags
	return cli.WithFlags(&cobra.Command{
		Use: "send ADDRESS... [TEXT]", Short: "send a message",
		Long: fmt.Sprintf(sendHelp, mail.TypeNames(", ")), Example: sendExamples,
		RunE: func(cmd *cobra.Command, more []string) error {
			f.to, f.last = append(f.to, more...), len(more) > 0
			return a.send(cmd.Context(), f, cmd.Flags().Changed("body"))
		},
		ValidArgsFunction: a.CompleteAddress,
	},
		cli.Flag{Into: &f.to, Name: "to", About: "`ADDRESS` to send to; repeatable",
			Complete: a.CompleteAddress, Each: true},
		cli.Flag{Into: &f.draft.Type, Name: "type", About: "`TYPE` of the message", Complete: cli.CompleteTypes},
		cli.Flag{Into: &f.draft.Subject, Name: "subject", About: "`LINE` with the subject"},
		cli.Flag{Into: &f.body, Name: "body", About: "`TEXT` in Markdown; \"-\", or no --body: standard input"},
		cli.Flag{Into: (*string)(&f.draft.ReplyTo), Name: "reply-to",
			About:    "`ID` of the message that this one answers",
			Complete: a.CompleteMessages(mail.InboxQuery{All: true})},
		cli.Flag{Into: &f.urgent, Name: "urgent", About: "wake the recipients"},
		cli.Flag{Into: &f.ttl, Name: "ttl", About: "expire if unread after `DURATION`: 30m, 4h, 7d"},
		cli.Flag{Into: &f.draft.Issue, Name: "issue", About: "`ID` of a related issue"},
		cli.Flag{Into: &f.metadata, Name: "metadata", About: "`JSON` object for programs"},
		cli.Flag{Into: &f.options, Name: "option", About: "`ANSWER` that a question offers; repeatable", Each: true},
		cli.Flag{Into: &f.verdict, Name: "verdict",
			About:    "the `VERDICT` of a review: approved, changes-requested or blocked",
			Complete: cli.OneOf(mail.Verdicts()...)},
		cli.Flag{Into: &f.docs, Name: "doc",
			About: "`PATH` or PATH@REVISION of a related document; repeatable", Each: true},
		cli.Flag{Into: &f.present, Name: "present", About: "with all or a tag: reach only agents that are live now"},
		cli.Flag{Into: &f.draft.Key, Name: "key",
			About: "idempotency `KEY`: sending again with the same key sends nothing new"},
		cli.Flag{Into: &f.later.at, Name: "at", About: "send it at this `TIME`: 14:30, \"tomorrow 9:00\", RFC 3339"},
		cli.Flag{Into: &f.later.in, Name: "in", About: "send it after this `DURATION`: 20m, 2h, 1d"},
		cli.Flag{Into: &f.later.every, Name: "every",
			About: "send it repeatedly, on a cron `LINE`: \"0 9 * * mon-fri\""},
		cli.Flag{Into: &f.later.until, Name: "until",
			About: "with --every: not after this `TIME`, or the end of that day"},
		cli.Flag{Into: &f.later.zone, Name: "zone",
			About: "with --every: the time `ZONE` of LINE, such as Europe/Berlin; default: this machine's"})
}

func (a *app) send(ctx context.Context, f sendFlags, bodyGiven bool) error {
	d, err := f.complete()
	if err != nil {
		return err
	}
	svc, err := a.Service(ctx)
	if err != nil {
		return err
	}
	typed := false
	if f.last && !bodyGiven {
		if typed, err = lastIsText(ctx, svc, d.To); err != nil {
			return err
		}
		if typed {
			f.body, d.To, bodyGiven = d.To[len(d.To)-1], d.To[:len(d.To)-1], true
		}
	}
	if d.Body = f.body; !bodyGiven || f.body == "-" {
		if d.Body, err = a.readBody(); err != nil {
			return err
		}
	}
	err = a.post(ctx, svc, d, "")
	if typed {
		err = cli.HintedIf(mail.NotFound, err, "quote a text of several words: pennypost send ADDRESS \"TEXT\"; "+
			"to list the agents: pennypost agents")
	}
	return err
}

// lastIsText reports whether the last of these words is not an address, and so the text for the others.
func lastIsText(ctx context.Context, svc mail.Service, words []string) (bool, error) {
	last := words[len(words)-1]
	spaced := strings.ContainsFunc(last, unicode.IsSpace)
	_, found, err := mail.OneAgent(ctx, svc, mail.Name(last))
	switch code := mail.CodeOf(err); {
	case spaced && len(words) > 1 && (code == mail.Unavailable || code == mail.Timeout):
		return true, nil // the post office is away, and few names have spaces
	case err != nil:
		return false, err
	case found || !spaced && (strings.ContainsAny(last, ":@") || slices.Contains(alwaysThere, last)):
		return false, nil
	case len(words) == 1 && spaced:
		return false, cli.Hinted(cli.Usage("no recipient: %q is the text", last),
			"pennypost send ADDRESS "+cli.Quoted(last)+"; to list the agents: pennypost agents")
	case len(words) == 1:
		return false, nil // the room reports that there is no such agent
	case spaced:
		return true, nil
	}
	err = mistyped(ctx, svc, words)
	return err == nil, err
}

// mistyped returns an error if the last of these words may be a misspelt address, and not a text.
func mistyped(ctx context.Context, svc mail.Service, words []string) error {
	last := words[len(words)-1]
	list, err := svc.Agents(ctx, mail.RosterQuery{Limit: mail.MaxLimit})
	names := slices.Clone(alwaysThere)
	for i := range list.Agents {
		names = append(names, string(list.Agents[i].Name))
	}
	if near := policy.Nearest(last, names, 1); err == nil && len(near) > 0 {
		err = cli.Hinted(cli.Usage("is %q the text, or did you mean %s? Nothing was sent", last, near[0]),
			"if it is the text: pennypost send "+cli.Quoted(words[0])+" --body "+cli.Quoted(last))
	}
	return err
}

// alwaysThere are the addresses without a kind that belong to no agent.
var alwaysThere = []string{"all", "broadcast", "user", "orchestrator"}

// post sends d and reports its deliveries; below is the heading of the message that d replies to.
func (a *app) post(ctx context.Context, svc mail.Service, d mail.Draft, below string) error {
	if err := d.Check(maxSend); err != nil {
		return err
	}
	made := d.Key == ""
	if made {
		d.Key = mail.MadeKey + rand.Text()
	}
	sent, err := svc.Send(ctx, d)
	_, unsent := errors.AsType[*cli.Hint](err) // there is no post office to send it
	if code := mail.CodeOf(err); !unsent && (code == mail.Unavailable || code == mail.Timeout) {
		return cli.Hinted(err, "retry with --key "+d.Key+"; if this message has arrived, it is not sent twice")
	}
	if err != nil {
		return err
	}
	if made {
		sent.Duplicate = false // it could only duplicate our own first attempt
	}
	if a.JSON {
		a.Out.Value(sent)
	} else {
		a.showSent(sent, below)
	}
	if n := mail.CountStates(sent.Recipients)[mail.NotSent]; n > 0 {
		return cli.Hinted(mail.Errorf(mail.Unavailable, "%d of %d recipients did not get it", n, len(sent.Recipients)),
			"retry with --key "+d.Key+" to reach the others; no recipient gets it twice")
	}
	return nil
}

// maxSend bounds what is read and sent, in bytes; the room enforces its own limit.
const maxSend = 16 << 20

// complete turns flags into a draft without a body.
func (f *sendFlags) complete() (mail.Draft, error) {
	d := f.draft
	d.To = f.to
	if len(f.to) == 0 {
		return d, cli.Hinted(cli.Usage("no recipient"),
			"pennypost send --to ADDRESS; to list the agents: pennypost agents")
	}
	if f.urgent {
		d.Priority = string(mail.Urgent)
	}
	if f.present {
		d.Audience = mail.AudiencePresent
	}
	if f.metadata != "" {
		if err := d.Metadata.UnmarshalJSON([]byte(f.metadata)); err != nil {
			return d, err
		}
	}
	if err := f.describe(&d); err != nil {
		return d, err
	}
	if f.ttl != "" {
		ttl, err := config.ParseDuration(f.ttl)
		if err != nil {
			return d, err
		}
		if d.TTLSeconds = int64(time.Duration(ttl) / time.Second); d.TTLSeconds < 1 {
			return d, cli.Usage("--ttl %s is shorter than a second or unlimited; omit it for the default", f.ttl)
		}
	}
	var err error
	if d.Later, err = f.later.parse(); err != nil {
		return d, err
	}
	for _, doc := range f.docs {
		d.Docs = append(d.Docs, parseDoc(doc))
	}
	return d, nil
}

// describe puts a question's options or a review's verdict into the metadata, and sets the type accordingly.
func (f *sendFlags) describe(d *mail.Draft) error {
	if len(f.options) > 0 {
		d.Type = cmp.Or(d.Type, string(mail.Question))
		if !mail.Type(d.Type).Asks() {
			return cli.Usage("a %s is not a question and takes no --option: omit --type, or use --type "+
				"question", d.Type)
		}
		if err := setMember(&d.Metadata, "options", f.options); err != nil {
			return err
		}
		if n := len(d.Metadata.Options()); n != len(f.options) {
			return cli.Usage("of %s only %d can be offered: use at most 12 options, each of up to 500 bytes and "+
				"different from the others", wording.Plural(len(f.options), "option"), n)
		}
	}
	if f.verdict == "" {
		return nil
	}
	d.Type = cmp.Or(d.Type, string(mail.ReviewResult))
	if !mail.Type(d.Type).Rule().Verdict {
		return cli.Usage("a %s takes no --verdict: omit --type, or use --type review-result", d.Type)
	}
	return setMember(&d.Metadata, "verdict", f.verdict)
}

// setMember adds a member to metadata that has no member of that name.
func setMember(m *mail.Metadata, name string, value any) error {
	members := make(map[string]any)
	if len(*m) > 0 {
		if err := jsonx.Unmarshal(*m, &members); err != nil {
			return cli.Usage("--metadata is not a JSON object: %s", jsonx.Explain(err))
		}
	}
	if _, is := members[name]; is {
		return cli.Usage("--metadata also contains %q: give it once", name)
	}
	members[name] = value
	text, err := jsonx.Marshal(members)
	*m = text
	return err
}

// parseDoc parses PATH or PATH@REVISION.
func parseDoc(s string) mail.Doc {
	if i := strings.LastIndexByte(s, '@'); i > 0 && !strings.ContainsAny(s[i:], "/\\.") && i < len(s)-1 {
		return mail.Doc{Path: s[:i], Revision: s[i+1:]}
	}
	return mail.Doc{Path: s}
}

// readBody reads standard input. At a terminal it returns an error instead of waiting silently.
func (a *app) readBody() (string, error) {
	if cli.IsTerminal(a.Env.Stdin) {
		return "", cli.Hinted(cli.Usage("the message has no body"),
			`add the text: "TEXT" at the end, --body "TEXT", or a file: < FILE`)
	}
	text, err := io.ReadAll(io.LimitReader(a.Env.Stdin, maxSend+1))
	if err != nil {
		return "", err
	}
	// The line break at the end of a file is not part of the message.
	return strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r"), nil
}

func (a *app) showSent(s mail.Sent, below string) {
	if k := s.Kept; k != nil {
		a.Out.Line("%s, with key %s", a.Out.Bold("kept on this machine"), k.Key)
		a.Out.Line("  It is sent when room %s is reachable again; no recipient has it yet. To list such mail: "+
			"pennypost outbox",
			k.Room)
		return
	}
	line := a.Out.Bold(string(s.ID))
	if s.Duplicate {
		line += " (sent before)"
	}
	if below != "" {
		line += "  below: " + below
	}
	a.Out.Line("%s", line)
	if s.Due != 0 {
		a.Out.Line("  It will be sent at %s. To cancel: pennypost scheduled cancel %s", dueTime(s.Due), s.ID)
	}
	rows := make([][]string, 0, len(s.Recipients))
	for _, d := range s.Recipients {
		rows = append(rows, cli.DeliveryRow(a.Out, d))
	}
	a.Out.Table(rows)
	if note := s.Suggestion(); note != "" {
		a.Out.Line("  %s", cli.OneLine("Sent as "+note+"."))
	}
}
