package mailroom

import (
	"context"
	"fmt"
	"strings"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
	"pennypost/internal/room/check"
	"pennypost/internal/room/fold"
)

// The answers to a card that asks for a grant.
const (
	allow = "Allow"
	deny  = "Not"
)

// Place returns the name of a session that starts. The person is asked, once, for anything it may not have.
func (r *Room) Place(ctx context.Context, c check.Entrant) (mail.Name, error) {
	v := r.view(check.Caller{Who: mail.System})
	var name mail.Name
	var asked *mail.Grant
	if _, _, err := v.decide(ctx, func(v *check.View) (events []mail.Event, _ error) {
		name, events, asked = v.Admit(c)
		return events, nil
	}); err != nil {
		return name, err
	}
	if asked != nil {
		r.askFor(ctx, asked)
	}
	return name, nil
}

// IsCard reports whether a message asks the person for a grant.
func IsCard(m *mail.Message) bool {
	var asked struct {
		Grant *mail.Grant `json:"grant"`
	}
	return m.From == mail.FromSystem && m.Type == mail.Question &&
		jsonx.UnmarshalLenient(m.Metadata, &asked) == nil && asked.Grant != nil
}

// card is the metadata of the message that asks for a grant.
type card struct {
	Options []choice   `json:"options"`
	Grant   mail.Grant `json:"grant"`
}

type choice struct {
	Label string `json:"label"`
	Note  string `json:"description"`
}

// askFor puts a card onto the person's desk. A failure to write it is logged, and retried when the next session asks:
// nothing was granted meanwhile.
func (r *Room) askFor(ctx context.Context, g *mail.Grant) {
	who, where := "A session", ""
	if g.Client != "" {
		who = g.Client
	}
	if g.Dir != "" {
		where = " in " + g.Dir
	}
	wants := fmt.Sprintf("to be %s, an existing agent", g.Agent)
	switch {
	case g.Role != "":
		wants = "to be the orchestrator"
		if g.Agent != mail.Orchestrator {
			wants += ", " + string(g.Agent)
		}
	case g.Room != "" && g.Agent == "":
		wants = "to enter the room " + string(g.Room)
	case g.Room != "":
		wants = fmt.Sprintf("to enter the room %s as %s", g.Room, g.Agent)
	}
	body := who + where + " asks " + wants + ".\n\n"
	if g.Role != "" {
		body += "The orchestrator may cancel, freeze and retire every agent of this room. "
	} else {
		body += "The file .pennypost.toml there asks for it, and the author of that repository wrote the file. The " +
			"session would read and send that agent's mail. "
	}
	body += "Until you answer, sessions there continue under a name of their own. Your answer is remembered and " +
		"applies from the next session on. To take it back: pennypost agents grant --help"
	meta, err := jsonx.Marshal(card{[]choice{{allow, "from the next session on"}, {deny, "continue without"}}, *g})
	if err == nil {
		_, err = r.As(mail.System).Send(context.WithoutCancel(ctx), mail.Draft{
			To: mail.Recipients{string(mail.User)}, Type: string(mail.Question), Key: fold.CardOf(g),
			Subject: wording.Clip(who+where+" asks "+wants, maxCardSubject), Body: body, Metadata: meta})
	}
	if err != nil {
		r.opts.Log.Warn("user not asked for a grant", "room", r.name, "agent", g.Agent, "dir", g.Dir,
			"err", err)
	}
}

// maxCardSubject is the longest subject of a card, in bytes.
const maxCardSubject = 200

// decides returns the grant that an answer decides, nil if it answers no card that asks for one.
func (v *view) decides(ctx context.Context, m *mail.Message) (*mail.Grant, error) {
	var at fold.Spot
	v.read(func(s *fold.State, _ mail.Time) {
		if q := s.Records[m.ReplyTo]; q != nil && q.IsCard() {
			at = q.Spot()
		}
	})
	if at.ID == "" {
		return nil, nil
	}
	if err := v.MayGrant(); err != nil {
		return nil, err
	}
	texts, err := v.texts(ctx, []fold.Spot{at})
	if err != nil {
		return nil, err
	}
	var asked card
	if texts[0] == nil || jsonx.UnmarshalLenient(texts[0].Metadata, &asked) != nil {
		return nil, mail.Errorf(mail.Unavailable, "the request in %s can no longer be read: nothing was granted",
			at.ID)
	}
	g := asked.Grant
	said, _, _ := strings.Cut(strings.TrimSpace(m.Body), "\n")
	switch {
	case m.Declines(), strings.EqualFold(said, deny):
		g.Refused = true
	case !strings.EqualFold(said, allow):
		return nil, mail.Errorf(mail.Invalid, "answer this with %s or %s: nothing was changed", allow, deny)
	}
	g.By, g.Question, g.Answer = mail.User, m.ReplyTo, m.ID
	return &g, nil
}

// Grants implements mail.Registrar.
func (v *view) Grants(context.Context) ([]mail.Grant, error) {
	out := []mail.Grant{}
	v.read(func(s *fold.State, _ mail.Time) { out = append(out, s.Grants...) })
	mail.SortGrants(out)
	return out, nil
}

// Grant implements mail.Registrar.
func (v *view) Grant(ctx context.Context, g mail.Grant) (mail.Grant, error) {
	if err := v.MayGrant(); err != nil {
		return g, err
	}
	if err := g.Check(); err != nil {
		return g, err
	}
	g.By, g.At, g.Question, g.Answer = mail.User, v.now(), "", ""
	_, err := v.commit(ctx, mail.Event{At: g.At, Grant: &g})
	return g, err
}

// Allows reports whether a directory is at home in this room, or whether its sessions may go to another room under a
// name.
func (r *Room) Allows(g mail.Grant) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.state.Granted(&g)
}
