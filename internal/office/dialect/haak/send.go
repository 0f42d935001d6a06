package haak

import (
	"context"
	"fmt"
	"strings"

	"pennypost/internal/base/confined"
	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/lines"
	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// draft is an unsent message.
type draft struct {
	to, subject, body string
	thread            mail.ID
	ttlHours          int // 0: the default for its recipients
	key               string
}

// posted is a sent draft.
type posted struct {
	ID        mail.ID     `json:"id"`
	Recipient string      `json:"recipient"`
	Reaches   []mail.Name `json:"reaches"` // live recipients now; later readers are decided later
	Notes     []string    `json:"notes,omitempty"`
}

func send(ctx context.Context, svc mail.Service, d draft) (*posted, error) {
	r, err := readRoster(ctx, svc)
	if err != nil {
		return nil, err
	}
	if strings.Contains(d.to, "#") {
		if err := r.addMailed(ctx, svc); err != nil {
			return nil, err
		}
	}
	a, err := find(d.to, r)
	if err != nil {
		return nil, err
	}
	m := mail.Draft{
		Again: true,
		To:    a.to, Subject: d.subject, Body: d.body, ReplyTo: d.thread, TTLSeconds: int64(d.ttlHours) * 3600,
		IDForm: mail.IDUUID, Key: d.key,
	}
	to := make([]mail.Address, len(a.to))
	for i, t := range a.to {
		to[i] = mail.Address(t)
	}
	m.Audience = audience(to)
	if d.ttlHours == 0 {
		m.TTLSeconds = defaultTTL(to)
	}
	if a.list || a.written() != spellAll(to, r.known()) {
		m.Metadata = asWritten(a.value())
	}
	sent, err := svc.Send(mail.Unkept(ctx), m)
	if err != nil {
		return nil, err
	}
	living := r.living()
	out := &posted{ID: sent.ID, Recipient: a.written(), Reaches: []mail.Name{}, Notes: a.notes}
	for _, rc := range sent.Recipients {
		if rc.Agent == mail.User || living[rc.Agent] {
			out.Reaches = append(out.Reaches, rc.Agent)
		}
	}
	if n := len(strings.Fields(d.body)); n > maxWordCount {
		out.Notes = append(out.Notes,
			fmt.Sprintf("the message has %d words; mail should stay under %d: a longer text is a document", n,
				maxWordCount))
	}
	return out, nil
}

// addMailed adds recently addressed tags.
func (r *roster) addMailed(ctx context.Context, svc mail.Service) error {
	page, err := svc.History(ctx, mail.HistoryQuery{Limit: mail.MaxLimit})
	if err != nil {
		return err
	}
	for i := range page.Messages {
		for _, a := range page.Messages[i].To {
			if a.Kind() == mail.ToTag {
				r.tags = append(r.tags, string(a))
			}
		}
	}
	return nil
}

func runSend(ctx context.Context, v *dialect.Invocation) error {
	d := draft{to: v.Text("to"), subject: v.Text("subject"), thread: mail.ID(v.Text("thread")),
		ttlHours: v.Number("ttl-hours")}
	var err error
	if d.body, err = v.Piped(v.Text("body")); err != nil {
		return err
	}
	if v.Given["ttl-hours"] && d.ttlHours <= 0 {
		return mail.Errorf(mail.Invalid,
			"--ttl-hours is %d; give the hours until the message expires, or omit it", d.ttlHours)
	}
	if n := len(strings.Fields(d.body)); v.Switch("strict") && n > maxWordCount {
		return mail.Errorf(mail.TooLarge,
			"the message has %d words, over %d: nothing was sent. Put the text in a file and say where it is", n,
			maxWordCount)
	}
	if v.Switch("later") {
		return postpone(ctx, v, d)
	}
	svc, _, err := speaker(ctx, v, "from")
	if err != nil {
		return err
	}
	sent, err := send(ctx, svc, d)
	if err != nil {
		return err
	}
	return report(v, sent)
}

func report(v *dialect.Invocation, sent *posted) error {
	for _, n := range sent.Notes {
		fmt.Fprintln(v.Stderr, "note:", n)
	}
	reaches := ""
	if len(sent.Reaches) > 0 {
		reaches = "\nwould reach: " + names(sent.Reaches)
	}
	return v.Say(sent, "sent %s to %s%s", sent.ID, sent.Recipient, reaches)
}

func names(list []mail.Name) string {
	return wording.Join(list, ", ", func(n mail.Name) string { return string(n) })
}

// drafts is the file of messages to send when their session ends. HAAK has no such file.
func drafts(v *dialect.Invocation) *lines.File {
	return lines.Open(confined.At(v.Project), "data/agent-mailbox-drafts.jsonl", perm)
}

// postpone saves a draft until its session says bye or checkpoint. It does not need the post office.
func postpone(ctx context.Context, v *dialect.Invocation, d draft) error {
	from := v.Text("from")
	if from == "" {
		caller, err := v.Caller(ctx)
		if err != nil {
			return err
		}
		from = string(caller)
	}
	id := string(mail.NewUUID()) // the idempotency key of the draft
	hours, thread := null, null
	if d.ttlHours > 0 {
		hours = fmt.Sprint(d.ttlHours)
	}
	if d.thread != "" {
		thread = string(quote(string(d.thread)))
	}
	err := drafts(v).Append(object{
		{Name: "id", Value: quote(id)}, {Name: "sender", Value: quote(from)}, {Name: "recipient", Value: quote(d.to)},
		{Name: "content", Value: quote(d.body)}, {Name: "thread", Value: jsonx.Value(thread)},
		{Name: "ttl_hours", Value: jsonx.Value(hours)},
		{Name: "subject", Value: quote(d.subject)},
	}.Line())
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(v.Stdout, "kept for %s; it is sent by: pennypost haak checkpoint, or bye, --session-id %s\n",
		d.to, from)
	return err
}

// flush sends a session's drafts. Refused ones stay and are reported.
func flush(ctx context.Context, v *dialect.Invocation, svc mail.Service, name mail.Name) error {
	text, _, err := drafts(v).Read()
	if err != nil {
		return err
	}
	done := make(map[mail.ID]bool)
	for _, l := range text {
		o, err := parseObject(l)
		if err != nil || o.Text("sender") != string(name) {
			continue
		}
		d := draft{to: o.Text("recipient"), subject: o.Text("subject"), body: o.Text("content"),
			thread: mail.ID(o.Text("thread")), key: o.Text("id")}
		if hours := o.Value("ttl_hours"); hours != nil {
			_ = jsonx.Unmarshal(hours, &d.ttlHours)
		}
		sent, err := send(ctx, svc, d)
		if err != nil {
			fmt.Fprintf(v.Stderr, "not sent to %s, and kept: %v\n", d.to, err)
			continue
		}
		done[mail.ID(d.key)] = true
		if err := report(v, sent); err != nil {
			return err
		}
	}
	if len(done) == 0 {
		return nil
	}
	return drafts(v).Drop(func(l []byte) bool { return done[idOf(l)] })
}
