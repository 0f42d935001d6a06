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

// entry is a line of the roster file. The last one of a session counts.
type entry struct {
	name mail.Name
	said object
	line string
}

// client is how the room knows the agents that came from here.
const client = "haak"

// The states of a session.
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

// retired reports whether the entry stands only for the name: its agent was taken off the room's roster.
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
	return "" // the entry does not say
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

// roles returns the roles that an entry gives: its role, and those among its tags. nil: it says nothing of roles.
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

// tags returns the tags that an entry gives, those of kinds that every room knows and those in more. nil: it says
// nothing of tags.
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

// maxWords is how many roles or tags an agent may have.
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

// summary makes the room's line about what an agent does of what an entry says.
func summary(s string) string {
	const most = 512
	return wording.Beginning(subject(dialect.Line(s)), most)
}

// news returns what the entry says otherwise than the room, where the agent is a, or nobody if a is nil. parents are
// the agents that the room knows. ok is false if it says nothing new.
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

// given returns the roles of an agent but for its own name: that one it has only so that mail finds it which was sent
// to the word before anybody bore it.
func given(a *mail.Agent) []string {
	return slices.DeleteFunc(slices.Clone(a.Roles), func(r string) bool { return r == string(a.Name) })
}

// encodeEntry writes the line that says of an agent what the room does, and keeps what an earlier one said besides.
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
	if o.Find("session_id") < 0 { // else it has the name, or the part of it by which its own system knows it
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

// says reports whether the entry says of an agent what a new one would.
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

// encodeRetired writes the line of an agent who was taken off the roster. Without the mark the entry would bring it
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
	text, _ := jsonx.Marshal(append([]string{}, list...)) // of names, which are valid
	return text
}
