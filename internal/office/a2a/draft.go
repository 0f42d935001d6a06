package a2a

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	proto "github.com/a2aproject/a2a-go/v2/a2a"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// note is a message's metadata under "a2a": data of the protocol that a room lacks.
type note struct {
	Message   string `json:"message,omitempty"` // the guest's own id for it
	Context   string `json:"context,omitempty"`
	Withdrawn bool   `json:"withdrawn,omitzero"`
}

func noteOf(it *mail.Item) note {
	var m struct {
		A2A note `json:"a2a"`
	}
	_ = jsonx.UnmarshalLenient(it.Metadata, &m) // metadata without a note gives an empty one
	return m.A2A
}

// metadata returns a note with other members as metadata.
func (n note) metadata(members map[string]any) mail.Metadata {
	if members == nil {
		members = make(map[string]any)
	}
	members["a2a"] = n
	text, _ := json.Marshal(members) // strings and booleans always encode
	return text
}

// howTo follows a guest's task and tells its reader which answers end it.
const howTo = "\n\n(A task from outside, over A2A. Reply with task-done to finish it, question to ask back, or " +
	"answer with metadata.declined to refuse it.)"

// guestsText returns the guest's part of a body.
func guestsText(body string) string { return strings.TrimSuffix(body, howTo) }

// maxWord is the maximum length of a guest's id, in bytes.
const maxWord = 256

// isWord reports whether a guest's id can be stored.
func isWord(s string) bool {
	return len(s) <= maxWord && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// keyOf returns the idempotency key for a guest's id.
func keyOf(id string) string {
	sum := sha256.Sum256([]byte(id))
	return "a2a-" + hex.EncodeToString(sum[:])
}

// read validates a guest's message and returns its text.
func read(m *proto.Message) (string, error) {
	switch {
	case m == nil || m.ID == "" || !isWord(m.ID) || !isWord(m.ContextID):
		return "", bad("messageId is missing, or messageId or contextId is longer than %d bytes or has control "+
			"characters", maxWord)
	case m.Role != proto.MessageRoleUser:
		return "", bad("role must be %s", proto.MessageRoleUser)
	}
	var texts []string
	for _, p := range m.Parts {
		if p == nil {
			return "", bad("the message has a null part")
		}
		switch c := p.Content.(type) {
		case proto.Text:
			texts = append(texts, string(c))
		case proto.Data:
			data, err := json.MarshalIndent(c.Value, "", "  ")
			if err != nil {
				return "", bad("a part cannot be written as JSON")
			}
			texts = append(texts, "```json\n"+string(data)+"\n```")
		default:
			return "", proto.NewError(proto.ErrUnsupportedContentType, "only text and data parts are supported")
		}
	}
	text := strings.Join(texts, "\n\n")
	if strings.TrimSpace(text) == "" {
		return "", bad("the message has no text")
	}
	return text, nil
}

func bad(format string, args ...any) error {
	return inProtocol(mail.Errorf(mail.Invalid, format, args...))
}

// newTask returns the draft that begins a task.
func (s *session) newTask(ctx context.Context, m *proto.Message, text string) (mail.Draft, error) {
	to, err := s.recipient(ctx, m)
	return mail.Draft{To: mail.Recipients{string(to)}, Type: string(mail.TaskAssigned), Body: text + howTo,
		Key: keyOf(m.ID), Again: true, Metadata: note{Message: m.ID, Context: m.ContextID}.metadata(nil)}, err
}

// recipient returns the recipient of a task: the agent in the address, else the role or tag that the message names.
func (s *session) recipient(ctx context.Context, m *proto.Message) (mail.Address, error) {
	if s.to != "" {
		return mail.AgentAddress(s.to), nil
	}
	skills, err := s.addresses(ctx)
	if err != nil {
		return "", err
	}
	skill, _ := m.Metadata["skill"].(string)
	asked := mail.Address(skill)
	if skill == "" && len(skills) == 1 {
		asked = skills[0]
	}
	lead := mail.Address(mail.Orchestrator)
	if asked == "" && slices.Contains(skills, lead) {
		asked = lead
	}
	if !slices.Contains(skills, asked) {
		return "", bad("unknown skill %q; set metadata.skill of the message to a skill from the card",
			cmp.Or(skill, "nothing"))
	}
	return asked, nil
}

// addresses returns the roles and tags through which a guest reaches agents of the room.
func (s *session) addresses(ctx context.Context) ([]mail.Address, error) {
	all, err := mail.Roster(ctx, s.Service)
	var out []mail.Address
	for _, a := range all {
		if a.Name == s.Name {
			continue
		}
		for _, r := range a.Roles {
			out = append(out, mail.RoleAddress(r))
		}
		for _, tag := range a.Tags {
			out = append(out, mail.Address(tag))
		}
	}
	return sorted(out), err
}

// more returns the draft of a further message to a task: the answer, if the task waits for one.
func (s *session) more(t *task, m *proto.Message, text string) mail.Draft {
	d := mail.Draft{ReplyTo: t.ask.ID, To: t.recipients()}
	if q := t.question; q != nil {
		d = q.Reply(s.Name)
	}
	d.Body, d.Key, d.Again = text, keyOf(m.ID), true
	d.Metadata = note{Message: m.ID}.metadata(nil)
	return d
}

// recipients returns the recipients of a task: for a role, the holder that it was given to.
func (t *task) recipients() (all mail.Recipients) {
	for _, d := range t.ask.Deliveries {
		if d.Agent != "" && mail.RolesAlone(t.ask.To) {
			all = append(all, string(mail.AgentAddress(d.Agent)))
		}
	}
	for _, to := range t.ask.To {
		if len(all) == 0 || to.Kind() != mail.ToRole {
			all = append(all, string(to))
		}
	}
	return all
}

// withdraw returns the draft by which the guest withdraws a task. It wakes an agent that works on the task.
func (s *session) withdraw(t *task) mail.Draft {
	d := s.more(t, &proto.Message{ID: "withdraw " + string(t.ask.ID)},
		"The task was withdrawn: no reply is needed.")
	var members map[string]any
	if t.question != nil {
		members = map[string]any{mail.DeclinedKey: true}
	} else if d.Type = string(mail.Status); t.state == proto.TaskStateWorking {
		d.Priority = string(mail.Urgent)
	}
	d.Metadata = note{Withdrawn: true}.metadata(members)
	return d
}

// has reports whether the task already has the guest's message with this id.
func (t *task) has(id string) bool {
	return slices.ContainsFunc(t.said, func(it mail.Item) bool {
		return it.By == mail.ByGuest && noteOf(&it).Message == id
	})
}
