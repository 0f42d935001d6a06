package haak

import (
	"context"
	"slices"
	"strings"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
	"pennypost/internal/policy"
)

// maxWordCount is the recommended limit for mail: longer texts are documents.
const maxWordCount = 500

// answersTo adds a new session's id to its roles if mail was sent to that word while no session had the name: such a
// word was a role.
func answersTo(ctx context.Context, svc mail.Service, name mail.Name, roles []string) []string {
	if _, err := mail.ParseRole(string(name)); err != nil || isSessionID(string(name)) ||
		slices.Contains(roles, string(name)) {
		return roles
	}
	page, err := svc.History(ctx, mail.HistoryQuery{To: "role:" + string(name), Limit: 1})
	if err != nil || len(page.Messages) == 0 {
		return roles
	}
	return append(roles, string(name))
}

// address is a resolved recipient.
type address struct {
	to    mail.Recipients
	words []string // as the file will have them
	list  bool     // as an array
	notes []string
}

func (a *address) written() string { return strings.Join(a.words, ",") }

// value returns the recipient as the file will have it.
func (a *address) value() jsonx.Value {
	if a.list {
		return words(a.words)
	}
	return quote(a.written())
}

// find resolves the argument of --to. It tries, in order: all; tags and roles with a namespace; whole session ids;
// roles in use; prefixes of session ids; and last a role that some session may take. Several, separated by commas or
// in a JSON array, are a union.
func find(typed string, r *roster) (address, error) {
	typed = strings.TrimSpace(typed)
	parts := listed([]byte(typed))
	all := address{list: parts != nil}
	if parts == nil {
		if a, err := findOne(typed, r); err == nil || !strings.Contains(typed, ",") {
			return a, err
		}
		parts = strings.Split(typed, ",")
	}
	for _, part := range parts {
		a, err := findOne(strings.TrimSpace(part), r)
		if err != nil {
			return address{}, err
		}
		all.to = append(all.to, a.to...)
		all.notes = append(all.notes, a.notes...)
		all.words = append(all.words, a.words...)
	}
	return all, nil
}

func findOne(word string, r *roster) (address, error) {
	if strings.HasPrefix(word, "#") {
		tag, err := r.channel(word)
		if err != nil {
			return address{}, err
		}
		word = tag
	}
	if word == "broadcast" {
		word = string(mail.ToAll)
	}
	a, err := recipient(word, r.typed())
	if err != nil {
		if ns, _, ok := strings.Cut(word, ":"); ok && ns != "role" && ns != "agent" {
			// perhaps a namespace of this room, which the room checks
			return address{to: mail.Recipients{word}, words: []string{word}}, nil
		}
		return address{}, err
	}
	if a.Kind() == mail.ToAgent {
		word = a.Value() // write the whole id: the short form is for people
	}
	return address{to: mail.Recipients{string(a)}, words: []string{word}, notes: r.notes(a)}, nil
}

// roster is the room's roster.
type roster struct {
	agents []mail.Agent
	tags   []string // recently addressed, in addition to those of agents
}

func readRoster(ctx context.Context, svc mail.Service) (*roster, error) {
	agents, err := mail.Roster(ctx, svc)
	return &roster{agents: agents}, err
}

// known finds sessions by their names in lines.
func (r *roster) known() sessions { return r.ids().find }

// typed finds sessions by words that people type.
func (r *roster) typed() sessions { return r.ids().abbreviated(r.ever) }

func (r *roster) ids() ids {
	all := newIDs()
	for _, a := range r.agents {
		all.add(a.Name)
	}
	return all
}

func (r *roster) find(name mail.Name) *mail.Agent {
	if a, ok := dialect.OnRoster(r.agents, name); ok {
		return &a
	}
	return nil
}

// living maps each session to whether it is neither dead nor frozen.
func (r *roster) living() map[mail.Name]bool {
	living := make(map[mail.Name]bool, len(r.agents))
	for _, a := range r.agents {
		living[a.Name] = a.State.Live()
	}
	return living
}

// holders returns the live sessions with a tag or a role.
func (r *roster) holders(a mail.Address) []mail.Name {
	var names []mail.Name
	for _, g := range r.agents {
		if g.State.Live() && (a.Kind() == mail.ToRole && slices.Contains(g.Roles, a.Value()) ||
			a.Kind() != mail.ToRole && policy.Carries(g.Tags, a)) {
			names = append(names, g.Name)
		}
	}
	return names
}

// notes returns notes to the sender about an address.
func (r *roster) notes(a mail.Address) []string {
	switch a.Kind() {
	case mail.ToAgent:
		switch g := r.find(mail.Name(a.Value())); {
		case g == nil:
		case g.State == mail.Gone:
			return []string{string(g.Name) +
				" is dead: the message is a dead letter unless the session comes back within its time"}
		case g.State == mail.Frozen:
			return []string{string(g.Name) + " is frozen: the message waits until the session is resumed"}
		}
	case mail.ToRole:
		if len(r.holders(a)) == 0 && !r.ever(a.Value()) {
			return []string{"no such role yet: no session has the role " + a.Value() +
				"; the message waits until one takes it"}
		}
		if len(r.holders(a)) == 0 {
			return []string{"no living session holds the role " + a.Value() +
				"; the message waits until a session does"}
		}
	case mail.ToTag:
		if len(r.holders(a)) == 0 {
			return []string{"no living session carries " + string(a) +
				" now; a session that does before the message expires will see it"}
		}
	}
	return nil
}

// ever reports whether any session on the roster, alive or not, has a role.
func (r *roster) ever(role string) bool {
	return slices.ContainsFunc(r.agents, func(a mail.Agent) bool { return slices.Contains(a.Roles, role) })
}

// channel is a tag as a group in the console.
type channel struct {
	Name    string      `json:"name"` // "#inscription", or "#project:inscription" if two tags end alike
	Tag     string      `json:"tag"`
	Members []mail.Name `json:"members"` // live ones
}

// channels returns the tags in use.
func (r *roster) channels() []channel {
	tags := slices.Clone(r.tags)
	for _, a := range r.agents {
		tags = append(tags, a.Tags...)
	}
	slices.Sort(tags)
	tags = slices.Compact(tags)
	bare := make(map[string]int)
	for _, t := range tags {
		_, value, _ := strings.Cut(t, ":")
		bare[value]++
	}
	all := make([]channel, 0, len(tags))
	for _, t := range tags {
		name := t
		if _, value, _ := strings.Cut(t, ":"); bare[value] == 1 {
			name = value
		}
		all = append(all, channel{"#" + name, t, append([]mail.Name{}, r.holders(mail.Address(t))...)})
	}
	return all
}

// channel returns the tag of a channel: "#inscription", "#project:inscription".
func (r *roster) channel(name string) (string, error) {
	word := strings.TrimPrefix(name, "#")
	var found, names []string
	for _, c := range r.channels() {
		_, value, _ := strings.Cut(c.Tag, ":")
		if c.Tag == word || value == word {
			found = append(found, c.Tag)
		}
		names = append(names, mail.Slug(c.Name))
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return "", mail.Errorf(mail.Invalid, "%s means several tags: write #%s", name, strings.Join(found, " or #"))
	case strings.Contains(word, ":"):
		tag, err := mail.ParseTag(word, mail.TagNamespaces())
		return tag, err
	case len(names) == 0:
		return "", mail.Errorf(mail.NotFound,
			"no channel %s: no tags are in use. Name the tag, such as project:%s", name, word)
	}
	nearest := policy.Nearest(word, names, 3)
	if len(nearest) == 0 {
		nearest = names
	}
	return "", mail.Errorf(mail.NotFound, "no channel %s; the nearest are %s. Or name the tag, such as project:%s",
		name, strings.Join(nearest, ", "), word)
}
