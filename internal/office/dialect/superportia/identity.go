package superportia

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
	"pennypost/internal/policy"
)

// identity is a line of the document's table of identities, and of the file for "identities load".
type identity struct {
	Identity mail.Name `json:"identity"`
	Ship     string    `json:"ship"`
	Platform string    `json:"platform"`
	Role     string    `json:"role"`
	// ID is a substitute for the identity in SP_AGENT_ID, such as mac-cli.
	ID string `json:"id,omitempty"`
}

// An identity on the roster: the role is the agent's first role, the rest are tags, so that mail can be addressed to
// a ship. The platform is not the agent's Client, because every program that connects puts its own name there.
const (
	shipTag     = "domain:ship:"
	platformTag = "domain:platform:"
	// placeTag is followed by the identity's index in its file, three digits, and ":" and its ID if it has one.
	placeTag = "domain:identity:"
)

// maxIdentities is the limit of three digits.
const maxIdentities = 999

// decodeIdentities parses a file of identities and checks that all can be registered.
func decodeIdentities(data []byte) ([]identity, error) {
	var list []identity
	if err := jsonx.Unmarshal(data, &list); err != nil {
		return nil, mail.Errorf(mail.Invalid,
			`this is not a list of identities ([{"identity","ship","platform","role"},…]): %s; nothing was loaded`,
			jsonx.Explain(err))
	}
	if len(list) > maxIdentities {
		return nil, mail.Errorf(mail.TooLarge,
			"the file has %d identities; at most %d are allowed; nothing was loaded", len(list), maxIdentities)
	}
	names, ids := make(map[mail.Name]bool), make(map[string]bool)
	captain := mail.Name("")
	for i := range list {
		id := &list[i]
		id.normalise()
		switch err := id.check(); {
		case err != nil:
			return nil, mail.Errorf(mail.CodeOf(err), "identity %d: %w; nothing was loaded", i+1, err)
		case names[id.Identity] || ids[id.ID]:
			return nil, mail.Errorf(mail.Invalid,
				"identity %d, %q, or its id is in the file twice; nothing was loaded", i+1, id.Identity)
		case id.Role == captainRole && captain != "":
			return nil, mail.Errorf(mail.Invalid, "%q and %q are both the Captain, but only one can be; nothing "+
				"was loaded", captain, id.Identity)
		case id.Role == captainRole:
			captain = id.Identity
		}
		names[id.Identity], ids[id.ID] = true, id.ID != ""
	}
	return list, nil
}

func (id *identity) normalise() {
	id.Identity = mail.Name(norm.NFC.String(string(id.Identity)))
	for _, s := range []*string{&id.Ship, &id.Platform, &id.Role, &id.ID} {
		*s = norm.NFC.String(*s)
	}
}

func (id *identity) check() error {
	if _, err := mail.ParseName(string(id.Identity)); err != nil {
		return err
	}
	if _, err := mail.ParseRole(id.Role); err != nil {
		return err
	}
	for _, tag := range id.tags(maxIdentities) {
		if _, err := mail.ParseTag(tag, mail.TagNamespaces()); err != nil {
			return err
		}
	}
	return nil
}

// tags returns the roster's tags for id, whose index in its file is place.
func (id *identity) tags(place int) []string {
	tag := fmt.Sprintf("%s%03d", placeTag, place)
	if id.ID != "" {
		tag += ":" + id.ID
	}
	tags := []string{tag}
	if id.Ship != "" {
		tags = append(tags, shipTag+id.Ship)
	}
	if id.Platform != "" {
		tags = append(tags, platformTag+id.Platform)
	}
	return tags
}

// presence returns the presence that registers id and keeps the agent's other roles and tags.
func (id *identity) presence(place int, known mail.Agent) mail.Presence {
	p := mail.Presence{Name: id.Identity, Roles: []string{id.Role}, Tags: id.tags(place)}
	if loaded := tagValue(known, placeTag) != ""; loaded && len(known.Roles) > 0 {
		known.Roles = known.Roles[1:] // the first role came from a file
	}
	for _, role := range known.Roles {
		if role != id.Role {
			p.Roles = append(p.Roles, role)
		}
	}
	for _, tag := range known.Tags {
		if !strings.HasPrefix(tag, shipTag) && !strings.HasPrefix(tag, platformTag) &&
			!strings.HasPrefix(tag, placeTag) {
			p.Tags = append(p.Tags, tag)
		}
	}
	return p
}

// identityOf returns an agent's identity and its sort key: loaded identities in the order of their file, then the
// others.
func identityOf(a mail.Agent) (id identity, place string) {
	id = identity{Identity: a.Name, Ship: tagValue(a, shipTag), Platform: tagValue(a, platformTag)}
	if len(a.Roles) > 0 {
		id.Role = a.Roles[0]
	}
	place, id.ID, _ = strings.Cut(tagValue(a, placeTag), ":")
	return id, cmp.Or(place, "others") // letters sort after digits
}

func tagValue(a mail.Agent, prefix string) string {
	for _, tag := range a.Tags {
		if value, ok := strings.CutPrefix(tag, prefix); ok {
			return value
		}
	}
	return ""
}

// identities returns the identities of a roster in order.
func identities(roster []mail.Agent) []identity {
	roster = slices.Clone(roster)
	slices.SortStableFunc(roster, func(a, b mail.Agent) int {
		_, x := identityOf(a)
		_, y := identityOf(b)
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a.Name, b.Name))
	})
	list := make([]identity, len(roster))
	for i, a := range roster {
		list[i], _ = identityOf(a)
	}
	return list
}

// load registers identities. The room's others stay.
func load(ctx context.Context, svc mail.Service, list []identity) error {
	roster, _, err := fleetRoster(ctx, svc)
	if err != nil {
		return err
	}
	for i := range list {
		known, _ := dialect.OnRoster(roster, list[i].Identity)
		p := list[i].presence(i+1, known)
		if list[i].Role == captainRole {
			err = enlist(ctx, svc, p)
		} else {
			_, err = svc.Register(ctx, p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// exact returns the identity that was typed: one on the roster, or the person, who may have sent mail in the room
// and must be answerable. It applies only NFC, without folding case or width and without trimming. reason begins the
// error's text.
func exact(ctx context.Context, svc mail.Service, typed, reason string) (mail.Name, error) {
	name := mail.Name(norm.NFC.String(typed))
	if name == mail.User {
		return name, nil
	}
	roster, _, err := fleetRoster(ctx, svc)
	if err != nil {
		return "", err
	}
	if _, ok := dialect.OnRoster(roster, name); ok {
		return name, nil
	}
	return "", mail.Errorf(mail.NotFound, "%s: %q is not an identity; use the exact one. %s", reason,
		typed, suggest(roster, typed))
}

// maxSuggested is how many identities an error lists if none is similar.
const maxSuggested = 20

// suggest lists the identities most similar to a word.
func suggest(roster []mail.Agent, word string) string {
	names := make([]string, 0, len(roster))
	for _, id := range identities(roster) {
		names = append(names, string(id.Identity))
	}
	if near := policy.Nearest(strings.TrimSpace(word), names, 3); len(near) > 0 {
		return "Nearest identities: " + quoteAll(near)
	}
	if len(names) == 0 {
		return "The room has no identities yet. The person can load them with: pennypost superportia identities " +
			"load FILE"
	}
	return "The identities are " + quoteAll(names[:min(len(names), maxSuggested)])
}

// quoteAll quotes names, so that their spaces are visible.
func quoteAll(words []string) string { return `"` + wording.Join(words, `", "`, mail.Slug) + `"` }

// agentID is the variable in which SuperPortia's configuration gives the identity of a process.
const agentID = "SP_AGENT_ID"

// identify returns the identities in SP_AGENT_ID, separated by commas: each an identity of exactly that name, or
// else the one loaded with that id. Guessing further ("mac-cli" fits two of the document's identities) would give
// one agent the mailbox of another.
func identify(ctx context.Context, svc mail.Service, getenv func(string) string) ([]mail.Name, error) {
	given := norm.NFC.String(getenv(agentID))
	if given == "" {
		return nil, nil
	}
	roster, signs, err := fleetRoster(ctx, svc)
	if err != nil {
		return nil, err
	}
	if name, ok := called(roster, given); ok {
		return []mail.Name{signs.owner(name)}, nil
	}
	var all []mail.Name
	for word := range strings.SplitSeq(given, ",") {
		name, ok := called(roster, strings.TrimSpace(word))
		if !ok {
			return nil, unknownID(roster, strings.TrimSpace(word))
		}
		if name = signs.owner(name); !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all, nil
}

// called returns the identity with a name or an id.
func called(roster []mail.Agent, given string) (mail.Name, bool) {
	if a, ok := dialect.OnRoster(roster, mail.Name(given)); ok {
		return a.Name, true
	}
	for _, id := range identities(roster) {
		if id.ID == given && given != "" {
			return id.Identity, true
		}
	}
	return "", false
}

func unknownID(roster []mail.Agent, given string) error {
	return mail.Errorf(mail.NotFound,
		`%s is %q, which is neither an identity of this room nor the "id" of one. %s. Set it to an exact identity, `+
			`or load a file in which the identity has "id": %q`,
		agentID, given, suggest(roster, strings.ReplaceAll(given, "-", " ")), given)
}

// known admits agents on the roster and the person. A process without an identity has a generated name that belongs
// to no one.
func known(ctx context.Context, svc mail.Service, name mail.Name) error {
	if _, ok, err := mail.OneAgent(ctx, svc, name); ok || err != nil || name == mail.User {
		return err
	}
	roster, _, err := fleetRoster(ctx, svc)
	if err != nil {
		return err
	}
	return mail.Errorf(mail.Denied, "%q is not an identity of this room, so no mailbox was opened. Name the owner: "+
		"%s=IDENTITY in the environment of the server, or --as IDENTITY. %s", name, agentID,
		suggest(roster, string(name)))
}
