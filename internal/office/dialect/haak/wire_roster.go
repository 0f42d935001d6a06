package haak

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// entry is a line of the roster file. A session's last line counts.
type entry struct {
	name mail.Name
	said object
	line string
}

// client is the client of HAAK's agents in the room.
const client = "haak"

// States of a session.
const (
	live   = "live"
	frozen = "frozen"
	dead   = "dead"
)

func decodeEntry(line []byte, known sessions) (entry, error) {
	o, err := parseObject(line)
	if err != nil {
		return entry{}, err
	}
	name, err := mail.ParseName(norm.NFC.String(strings.TrimSpace(o.Text("session_id"))))
	if err != nil {
		return entry{}, fmt.Errorf("session_id: %w", err)
	}
	name, _ = known(string(name))
	return entry{name: name, said: o, line: string(line)}, nil
}

// retired reports whether the entry only reserves the name: its agent was removed from the room's roster.
func (e *entry) retired() bool { return string(e.said.Value("retired")) == "true" }

func (e *entry) state() mail.State { return stateOf(e.said.Text("state")) }

func (e *entry) updated() mail.Time {
	t, _ := parseTime(e.said.Text("updated"))
	return t
}

func stateOf(word string) mail.State {
	switch word {
	case live:
		return mail.Idle
	case frozen:
		return mail.Frozen
	case dead:
		return mail.Gone
	}
	return "" // the entry has no state
}

func wordOf(s mail.State) string {
	switch s {
	case mail.Frozen:
		return frozen
	case mail.Gone:
		return dead
	}
	return live
}

// roles returns the entry's role and the roles among its tags, or nil if it names neither.
func (e *entry) roles() []string {
	var roles []string
	role, tags := e.said.Find("role") >= 0, e.tagWords()
	if role {
		roles = append([]string{}, valid([]string{e.said.Text("role")}, mail.ParseRole)...)
	}
	for _, t := range tags {
		if r, ok := strings.CutPrefix(t, "role:"); ok && !slices.Contains(roles, r) {
			roles = append(roles, valid([]string{r}, mail.ParseRole)...)
		}
	}
	return roles
}

// tags returns the entry's tags that have a standard namespace or are in more, or nil if it has no tags member.
func (e *entry) tags(more []string) []string {
	if e.said.Find("tags") < 0 {
		return nil
	}
	return append([]string{}, valid(e.tagWords(), func(t string) (string, error) {
		if slices.Contains(more, t) {
			return t, nil
		}
		return mail.ParseTag(t, mail.TagNamespaces())
	})...)
}

func (e *entry) tagWords() []string {
	var words []string
	_ = jsonx.Unmarshal(e.said.Value("tags"), &words)
	return words
}

// maxWords is the maximum number of roles or tags of an agent.
const maxWords = 50

func valid(words []string, parse func(string) (string, error)) []string {
	var out []string
	for _, w := range words {
		if w, err := parse(norm.NFC.String(strings.TrimSpace(w))); err == nil && !slices.Contains(out, w) &&
			len(out) < maxWords {
			out = append(out, w)
		}
	}
	return out
}

// summary turns an entry's summary into the room's line about an agent's task.
func summary(s string) string {
	const most = 512
	return wording.Beginning(subject(dialect.Line(s)), most)
}

// news returns the differences between the entry and the room's agent a, which may be nil. parents are the agents
// that the room knows. ok is false if there are none.
func (e *entry) news(a *mail.Agent, parents map[mail.Name]bool) (p mail.Presence, ok bool) {
	p = mail.Presence{Name: e.name, Update: a != nil}
	if a == nil {
		a = &mail.Agent{State: mail.Idle}
		p.Client, ok = client, true
	}
	if s := e.state(); s != "" && wordOf(s) != wordOf(a.State) {
		p.State, ok = s, true
	}
	if roles := e.roles(); roles != nil && !sameWords(roles, given(a)) {
		p.Roles, ok = roles, true
		if slices.Contains(a.Roles, string(e.name)) {
			p.Roles = append(p.Roles, string(e.name))
		}
	}
	if tags := e.tags(a.Tags); tags != nil && !sameWords(tags, a.Tags) {
		p.Tags, ok = tags, true
	}
	if e.said.Find("summary") >= 0 {
		if task := summary(e.said.Text("summary")); task != a.Task {
			p.Task, ok = &task, true
		}
	}
	if parent := mail.Name(e.said.Text("parent_session")); parent != "" && parent != a.Parent && parent != e.name &&
		parents[parent] {
		p.Parent, ok = &parent, true
	}
	return p, ok
}

func sameWords(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// given returns an agent's roles except its own name: that role only delivers mail that was sent to the word before
// an agent had the name.
func given(a *mail.Agent) []string {
	return slices.DeleteFunc(slices.Clone(a.Roles), func(r string) bool { return r == string(a.Name) })
}

// encodeEntry returns the roster line for the room's state of an agent, with other members kept from an earlier
// line.
func encodeEntry(before object, a *mail.Agent, now mail.Time) []byte {
	o := slices.Clone(before)
	if i := o.Find("retired"); i >= 0 {
		o = slices.Delete(o, i, i+1)
	}
	roles, tags := given(a), append([]string{}, a.Tags...)
	role := jsonx.Value(null)
	if len(roles) > 0 {
		role = quote(roles[0])
		for _, r := range roles[1:] {
			tags = append(tags, "role:"+r)
		}
	}
	if o.Find("session_id") < 0 { // otherwise keep the id, short or whole, that its own system uses
		o.Put("session_id", quote(string(a.Name)))
	}
	o.Put("state", quote(wordOf(a.State)))
	o.Put("role", role)
	o.Put("summary", quote(a.Task))
	if a.State == mail.Gone && a.Task != "" {
		o.Put("final_summary", quote(a.Task))
	}
	if a.Parent != "" || o.Find("parent_session") >= 0 {
		o.Put("parent_session", quote(string(a.Parent)))
	}
	o.Put("tags", words(tags))
	if a.Registered != 0 && o.Find("registered") < 0 {
		o.Put("registered", quote(stamp(a.Registered)))
	}
	o.Put("updated", quote(stamp(now)))
	return o.Line()
}

// says reports whether the entry already has the content of a new one for the agent.
func (e *entry) says(a *mail.Agent) bool {
	want, err := parseObject(encodeEntry(e.said, a, 0))
	if err != nil {
		return false
	}
	unsaid := map[string]string{"state": `"` + live + `"`, "role": null, "summary": `""`, "parent_session": `""`,
		"tags": nothing}
	for name, is := range unsaid {
		if v := e.said.Value(name); v != nil {
			is = string(v)
		}
		if v := want.Value(name); v != nil && !sameValue(v, jsonx.Value(is)) && !sameList(v, jsonx.Value(is)) {
			return false
		}
	}
	return true
}

func sameList(a, b jsonx.Value) bool {
	var x, y []string
	return a[0] == '[' && jsonx.Unmarshal(a, &x) == nil && jsonx.Unmarshal(b, &y) == nil && sameWords(x, y)
}

// encodeRetired returns the line of an agent removed from the roster. Without the mark the entry would bring it
// back.
func encodeRetired(before object, name mail.Name, now mail.Time) []byte {
	o := slices.Clone(before)
	if o.Find("session_id") < 0 {
		o.Put("session_id", quote(string(name)))
	}
	o.Put("state", quote(dead))
	o.Put("updated", quote(stamp(now)))
	o.Put("retired", jsonx.Value("true"))
	return o.Line()
}

func words(list []string) jsonx.Value {
	text, _ := jsonx.Marshal(append([]string{}, list...)) // names are always valid
	return text
}
