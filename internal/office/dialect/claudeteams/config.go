package claudeteams

import (
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"pennypost/internal/base/confined"
	"pennypost/internal/mail"
)

// config is a team's config.json.
type config struct {
	object  object // as in the file
	name    string
	lead    string // the lead's name
	session string // of the lead
	members []member
}

// member is a member of a team.
type member struct {
	object   object
	name     string
	color    string
	kind     string // agentType
	planMode bool
	joined   mail.Time
	state    mail.State // "" if the file does not say
}

// ourSession is the lead's session in teams that Pennypost runs, which no Claude Code manages.
const ourSession = "pennypost"

// Paths below a team's directory.
const (
	configFile = "config.json"
	inboxDir   = "inboxes"
)

// readConfig reads a team's config.json. If the file is missing, the error is fs.ErrNotExist.
func readConfig(dir confined.Dir, name string) (config, error) {
	text, err := dir.ReadFile(name)
	if err != nil {
		return config{}, err
	}
	c, ok := parseConfig(text)
	if !ok {
		return config{}, mail.Errorf(mail.Unavailable,
			"%s is not the config.json of a team; nothing was changed. Repair the file, or remove the bridge",
			dir.Path(name))
	}
	return c, nil
}

func parseConfig(text []byte) (c config, ok bool) {
	if c.object, ok = parseObject(text); !ok {
		return c, false
	}
	c.name, c.session = c.object.string("name"), c.object.string("leadSessionId")
	list := c.object.raw("members")
	if list == nil {
		list = []byte("[]")
	}
	elements, ok := parseArray(list)
	for _, raw := range elements {
		if m, ok := parseMember(raw); ok {
			c.members = append(c.members, m)
		}
	}
	c.lead = c.findLead()
	return c, ok
}

func parseMember(raw []byte) (m member, ok bool) {
	if m.object, ok = parseObject(raw); !ok {
		return m, false
	}
	o := m.object
	m.name, m.color, m.kind = o.string("name"), o.string("color"), o.string("agentType")
	m.planMode, _ = o.bool("planModeRequired")
	m.joined, _ = parseTime(o.raw("joinedAt"))
	active, said := o.bool("isActive")
	switch status := o.string("status"); {
	case status == "left":
		m.state = mail.Gone
	case status == "working", status == "" && active:
		m.state = mail.Working
	case status == "idle", status == "" && said:
		m.state = mail.Idle
	}
	return m, m.name != ""
}

// findLead returns the name of the member with the team's leadAgentId or, if there is none, the name in that id.
func (c *config) findLead() string {
	id := c.object.string("leadAgentId")
	for _, m := range c.members {
		if id != "" && m.object.string("agentId") == id {
			return m.name
		}
	}
	if name, _, ok := strings.Cut(id, "@"); ok && name != "" {
		return name
	}
	return leadName
}

// isTeam reports whether the object can be a team's config.
func (c *config) isTeam() bool {
	return c.object.raw("members") != nil || c.object.raw("leadAgentId") != nil
}

// ours reports whether Pennypost runs the team.
func (c *config) ours() bool { return c.session == ourSession }

// summary returns an entry's summary. Claude Code shows it before the text, and writes no summary that only repeats
// the text (2.1.330).
func (c *config) summary(m *mail.Message) string {
	if m.Subject == "" && !c.ours() {
		return ""
	}
	return summary(m)
}

// member returns the member called name.
func (c *config) member(name string) (m member, ok bool) {
	i := slices.IndexFunc(c.members, func(m member) bool { return m.name == name })
	if i < 0 {
		return m, false
	}
	return c.members[i], true
}

// owner returns the owner of the inbox with this file name: a member or, presumably, a former one.
func (c *config) owner(base string) string {
	for _, m := range c.members {
		if sanitise(m.name) == base {
			return m.name
		}
	}
	return base
}

func (c *config) names() []string {
	out := make([]string, len(c.members))
	for i, m := range c.members {
		out[i] = m.name
	}
	return out
}

// neat prints the config as its file holds it.
func (c *config) neat() []byte {
	raw := make([][]byte, len(c.members))
	for i, m := range c.members {
		raw[i] = m.object.neat(2)
	}
	return c.object.set("members", neatArray(raw)).neat(0)
}

// newConfig returns the config of a new Pennypost team with its lead. Times are in milliseconds.
func newConfig(name, description, dir string, now mail.Time) config {
	ms := strconv.AppendInt(nil, int64(now), 10)
	id := quote(leadName + "@" + name)
	lead := object{}.set("agentId", id).set("name", quote(leadName)).set("agentType", quote(leadName)).set("model",
		quote("")).
		set("joinedAt", ms).set("tmuxPaneId", quote("")).set("cwd", quote(dir)).set("subscriptions", []byte("[]"))
	o := object{}.set("name", quote(name))
	if description != "" {
		o = o.set("description", quote(description))
	}
	o = o.set("createdAt", ms).set("leadAgentId", id).set("leadSessionId", quote(ourSession)).set("members",
		[]byte("[]"))
	m, _ := parseMember(lead.neat(2))
	return config{object: o, name: name, lead: leadName, session: ourSession, members: []member{m}}
}

// newMember describes a member to add.
type newMember struct {
	name, kind, model, prompt string
	planMode                  bool
	cwd                       string
}

// add adds a member and gives it the next colour.
func (c *config) add(n newMember, now mail.Time) {
	color := quote(c.nextColour())
	o := object{}.set("agentId", quote(n.name+"@"+c.name)).set("name", quote(n.name)).set("agentType",
		quote(n.kind)).set("model", quote(n.model)).
		set("prompt", quote(n.prompt)).set("color", color).set("planModeRequired",
		strconv.AppendBool(nil, n.planMode)).
		set("joinedAt", strconv.AppendInt(nil, int64(now), 10)).set("tmuxPaneId", quote("in-process")).set("cwd",
		quote(n.cwd)).
		set("subscriptions", []byte("[]")).set("backendType", quote("in-process"))
	m, _ := parseMember(o.neat(2))
	c.members = append(c.members, m)
}

// nextColour returns the first colour that no member has, starting after those already given out.
func (c *config) nextColour() string {
	all, used := colours(), 0
	has := make(map[string]bool)
	for _, m := range c.members {
		if m.color != "" {
			used++
			has[m.color] = true
		}
	}
	for i := range all {
		if color := all[(used+i)%len(all)]; !has[color] {
			return color
		}
	}
	return all[used%len(all)]
}

func (c *config) remove(name string) {
	c.members = slices.DeleteFunc(c.members, func(m member) bool { return m.name == name })
}

// editConfig changes a team's config.json under its lock.
func editConfig(l locker, dir confined.Dir, change func(*config) error) error {
	return l.hold(dir, configFile, func(confirm func() error) error {
		c, err := readConfig(dir, configFile)
		if err != nil {
			return err
		}
		if err := change(&c); err != nil {
			return err
		}
		return replace(dir, configFile, c.neat(), confirm)
	})
}

// isTeam reports whether dir is a team's directory.
func isTeam(dir confined.Dir) bool { return exists(dir, configFile) || exists(dir, inboxDir) }

// exists reports whether name exists in dir, as a file of any kind.
func exists(dir confined.Dir, name string) bool {
	_, err := dir.Lstat(name)
	return !errors.Is(err, fs.ErrNotExist)
}
