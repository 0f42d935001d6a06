package config

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// row is a line of a section: a key, its value and its meaning.
type row struct {
	name   string
	value  any // nil: unset, and the line is omitted
	about  string
	note   string // a comment after the key
	absent string // a comment instead of the key
}

// given returns a value that is printed only if it is set.
func given(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// section writes the header of a section, and its rows.
func section(b *strings.Builder, name string, rows ...row) {
	fmt.Fprintf(b, "[%s]\n", name)
	writeRows(b, rows...)
}

// writeRows writes rows, with the comments in a column.
func writeRows(b *strings.Builder, rows ...row) {
	for _, r := range rows {
		notes := []string{r.absent}
		if r.value != nil {
			fmt.Fprintf(b, "%-40s # %s\n", r.name+" = "+literal(r.value), r.about)
			notes[0] = r.note
		}
		for _, n := range notes {
			if n != "" {
				b.WriteString("# " + n + "\n")
			}
		}
	}
}

// literal writes a value as TOML.
func literal(v any) string {
	switch v := v.(type) {
	case Duration:
		return quoted(v.String())
	case []string:
		return list(v)
	case []mail.Name:
		return list(v)
	case string:
		return quoted(v)
	}
	return fmt.Sprint(v) // a number or a boolean
}

func list[T ~string](words []T) string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = quoted(string(w))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// quoted writes a basic string, which has fewer escapes than Go's.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteRune('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, "\\u%04x", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + "\""
}

// Print writes the effective configuration, defaults included, as a config.toml that explains each key.
func (c *Config) Print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# The configuration of the post office at %s\n", c.Home)
	fmt.Fprintf(&b, "# File: %s. These values are in effect.\n", c.Home.File())
	writeRows(&b, c.rows()...)
	b.WriteString("\n")
	section(&b, "user", c.User.rows()...)
	b.WriteString("\n")
	section(&b, "tls", c.TLS.rows()...)
	c.Notify.print(&b)
	b.WriteString("\n" +
		"# Storage of new rooms.\n")
	section(&b, "journal", c.Journal.rows()...)
	section(&b, "outbox", c.Outbox.rows()...)
	section(&b, "events", c.Events.rows()...)
	b.WriteString("\n")
	section(&b, "machine", row{name: "name", value: string(c.MachineName()),
		about: "name of this machine for other machines; default: the host name"},
		row{name: "admit", value: cmp.Or(c.Machine.Admit, AdmitListed),
			about: `who may enter rooms that it creates on NATS servers: "listed", or "anyone" who reaches them`})
	r := c.For("")
	b.WriteString("\n" +
		"# Every room, unless [rooms.NAME] overrides it.\n")
	r.print(&b, "room")
	for _, name := range slices.Sorted(maps.Keys(c.Rooms)) {
		b.WriteString("\n")
		own := c.For(name)
		own.print(&b, "rooms."+strconv.Quote(string(name)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (c *Config) rows() []row {
	return []row{
		{name: "listen", value: cmp.Or(c.Listen, DefaultListen),
			about: `TCP address; "none" for the Unix socket only`},
		{name: "token_socket", value: c.TokenSocket,
			about: `Unix socket for other users and containers, which need tokens; "" for none`},
		{name: "insecure", value: c.Insecure, about: "allow an address that other machines reach, without TLS"},
		{name: "room_idle", value: cmp.Or(c.RoomIdle, DefaultRoomIdle),
			about: "a room that is unused for this long is closed until it is needed"},
		{name: "idle_exit", value: cmp.Or(c.IdleExit, DefaultIdleExit),
			about: `a post office that a command started exits after this long without clients; "never"`},
		{name: "log_level", value: cmp.Or(c.LogLevel, "info"), about: "debug, info, warn or error"},
		{name: "claude_below", value: cmp.Or(c.ClaudeBelow, DefaultClaudeBelow),
			about: "sessions of Claude Code from this version on are not woken by their inbox socket"},
		{name: "claude_teams", value: cmp.Or(c.ClaudeTeams, TeamsBridged),
			about: `a team led by a known session of Claude Code: "bridge" its files, or "leave" them to you`},
	}
}

func (u *User) rows() []row {
	return []row{
		{name: "terminals", value: u.Terminals,
			about: "programs in whose terminals you sit, besides the known ones"},
		{name: "confirm", value: u.Confirm, about: "ask for your passphrase before sensitive acts, once per " +
			"terminal"},
	}
}

func (t *TLS) rows() []row {
	return []row{
		{name: "listen", value: t.Listen, about: `address for other machines, such as "0.0.0.0:8766"; "" for none`},
		{name: "cert", value: t.Cert,
			about: "file of a certificate; without it one is made, and its fingerprint shown"},
		{name: "key", value: t.Key, about: "file of its key"},
		{name: "url", value: t.URL,
			about: `its address for other machines, if different, such as "https://box.example"`},
	}
}

func (r *Room) print(b *strings.Builder, name string) {
	section(b, name,
		row{name: "max_body", value: cmp.Or(r.MaxBody, mail.MaxBody), about: "bytes of a message's body"},
		row{name: "tag_namespaces", value: r.TagNamespaces,
			about: "besides " + strings.Join(mail.TagNamespaces(), ", ")},
		row{name: "orchestrators", value: r.Orchestrators, about: "names of agents that have this role"},
		row{name: "claims", value: cmp.Or(r.Claims, string(policy.DefaultClaims)),
			about: "when an agent writes to another's claim: off, warn or refuse"},
		row{name: "claims_quiet", value: cmp.Or(r.ClaimsQuiet, Duration(policy.DefaultQuiet)),
			about: "how long after its turn a file stays claimed by its writer"})
	section(b, name+".retention",
		row{name: "age", value: cmp.Or(r.Retention.Age, Duration(policy.DefaultAge)),
			about: "older messages go to the archive"},
		row{name: "count", value: cmp.Or(r.Retention.Count, policy.DefaultCount),
			about: "of more messages, read and old ones go first; -1 for no limit"})
	section(b, name+".ttl",
		row{name: "agent", value: cmp.Or(r.TTL.Agent, Duration(policy.DefaultAgentTTL)),
			about: "mail to an agent expires unread after this long"},
		row{name: "tag", value: cmp.Or(r.TTL.Tag, Duration(policy.DefaultTagTTL)), about: "mail to a tag"},
		row{name: "all", value: cmp.Or(r.TTL.All, Duration(policy.DefaultAllTTL)), about: "mail to all"})
	section(b, name+".limits", r.Limits.rows()...)
	section(b, name+".a2a", r.A2A.rows()...)
	r.printScheduled(b, name)
	if r.GitHub != nil {
		section(b, name+".github", r.GitHub.rows()...)
	}
	r.printWakes(b, name)
}
