package wake

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// maxListed is how many messages a notice lists.
const maxListed = 20

// hear stores the last answer of a door; nil if it was rung.
func (s *sleeper) hear(door string, err error) {
	said := report{Door: door, Answer: "woke it, but it did not read its mail"}
	if err != nil {
		said.Answer = err.Error()
	}
	i := slices.IndexFunc(s.answers, func(r report) bool { return r.Door == said.Door })
	if i < 0 {
		s.answers = append(s.answers, said)
		return
	}
	s.answers[i] = said
}

// report is the answer of a door, as shown to the user.
type report struct {
	Door   string `json:"door"`
	Answer string `json:"answer"`
}

// inVain returns the notice that an agent or role cannot be woken.
func inVain(u *mail.Unwoken, s *sleeper, e *entry) mail.Draft {
	var b strings.Builder
	fmt.Fprintf(&b, "%s for %s. ", messages(len(u.Mail)), who(u))
	if e != nil || len(s.answers) > 0 {
		tried(&b, s.answers)
	}
	switch {
	case u.Away != "" && e == nil:
		fmt.Fprintf(&b, "It is on the machine %s, whose post office does not respond, and no other machine has a "+
			"door for it. It is woken when %s is back.\n", u.Away, u.Away)
	case e == nil:
		b.WriteString("No door can wake it. It sees its mail when it next looks: at its next turn, if its client " +
			"has our hooks. To see how it could be woken: pennypost doctor\n")
	case len(e.on()) == 0:
		b.WriteString(
			"No usable door is left. Correct [room.wake] in the configuration, then restart the post office: " +
				"pennypost stop\n")
	case s.fails > 0:
		fmt.Fprintf(&b, "The attempts continue, every %s.\n", s.ladder.LastRetry)
	default:
		b.WriteString("The next attempt comes with more mail, or when its turn ends.\n")
	}
	if u.Agent != "" {
		fmt.Fprintf(&b, "\nTo list its mail: pennypost inbox --agent '%s'\n", u.Agent)
	}
	metadata := struct {
		Agent    mail.Name `json:"agent,omitempty"`
		Role     string    `json:"role,omitempty"`
		Messages []mail.ID `json:"messages"`
		Doors    []report  `json:"doors"`
	}{u.Agent, u.Role, listed(u), append([]report{}, s.answers...)}
	var ids []mail.ID
	for _, m := range u.Mail {
		ids = append(ids, m.ID)
	}
	return notice(who(u)+" cannot be woken", b.String(), map[string]any{"wake": metadata}, policy.VainKey(who(u), ids))
}

// tried lists the doors that were tried.
func tried(b *strings.Builder, answers []report) {
	b.WriteString("All attempts to wake it have failed.\n\nThe doors tried, and the last answer of each:\n\n")
	if len(answers) == 0 {
		b.WriteString("- none since the post office started\n")
	}
	for _, r := range answers {
		fmt.Fprintf(b, "- %s: %s\n", r.Door, r.Answer)
	}
	b.WriteString("\n")
}

// overspent returns the notice that a budget is exhausted.
func overspent(u *mail.Unwoken, s *sleeper, now mail.Time) mail.Draft {
	body := fmt.Sprintf(
		"%s was woken %d times within an hour without effect, which is its budget. It is not woken again before "+
			"%s. %s.\n\n"+
			"For more, set budget in its section of [room.wake] in the configuration, and restart the post office: "+
			"pennypost stop\n",
		who(u), len(s.rung), s.due, messages(len(u.Mail)))
	metadata := struct {
		Agent mail.Name `json:"agent,omitempty"`
		Role  string    `json:"role,omitempty"`
		Until mail.Time `json:"until"`
	}{u.Agent, u.Role, s.due}
	sum := sha256.Sum256([]byte(who(u)))
	return notice(who(u)+" is not woken for a while", body, map[string]any{"wake_budget": metadata},
		"budget-"+hex.EncodeToString(sum[:])+now.String()[:len("2006-01-02T15")])
}

// notice drafts a message to the user. With the same idempotency key it is sent only once, whatever the text.
func notice(subject, body string, metadata any, key string) mail.Draft {
	raw, err := jsonx.Marshal(metadata)
	if err != nil || len(raw) > mail.MaxMetadata {
		raw = nil // an answer is not valid text; the body still contains it
	}
	return mail.Draft{
		To: mail.Recipients{string(mail.ToUser)}, Type: string(mail.Custom), Priority: string(mail.Urgent),
		Subject: subject, Body: strings.ToValidUTF8(body, "\ufffd"), Metadata: raw, Key: key,
	}
}

func who(u *mail.Unwoken) string {
	if u.Agent == "" {
		return "any " + u.Role
	}
	return string(u.Agent)
}

func messages(n int) string {
	if n == 1 {
		return "1 message waits"
	}
	return fmt.Sprintf("%d messages wait", n)
}

// listed returns the newest waiting messages.
func listed(u *mail.Unwoken) []mail.ID {
	var ids []mail.ID
	for _, m := range u.Mail[max(0, len(u.Mail)-maxListed):] {
		ids = append(ids, m.ID)
	}
	return ids
}
