package config

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// Print writes the effective configuration, defaults included, as a config.toml that says what each key means.
func (c *Config) Print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# The configuration of the post office at %s\n", c.Home)
	fmt.Fprintf(&b, "# Kept in %s; these values are in effect.\n", c.Home.File())
	c.printOffice(&b)
	c.User.print(&b)
	c.TLS.print(&b)
	c.Notify.print(&b)
	c.printJournal(&b)
	r := c.For("")
	b.WriteString("\n# Every room, unless [rooms.NAME] says otherwise for one.\n")
	r.print(&b, "room")
	for _, name := range slices.Sorted(maps.Keys(c.Rooms)) {
		b.WriteString("\n")
		own := c.For(name)
		own.print(&b, "rooms."+strconv.Quote(string(name)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (c *Config) printOffice(b *strings.Builder) {
	key(b, "listen", strconv.Quote(orText(c.Listen, DefaultListen)), `TCP address; "none" for the Unix socket only`)
	key(b, "token_socket", strconv.Quote(c.TokenSocket),
		`Unix socket for other users and containers, where only tokens count; "" for none`)
	key(b, "insecure", strconv.FormatBool(c.Insecure), "allow an address that other machines reach, without TLS")
	key(b, "room_idle", quoted(c.RoomIdle, DefaultRoomIdle), "a room unused for so long is closed until it is needed")
	key(b, "idle_exit", quoted(c.IdleExit, DefaultIdleExit),
		`a post office that a command started leaves after so long alone; "never"`)
	key(b, "log_level", strconv.Quote(orText(c.LogLevel, "info")), "debug, info, warn or error")
	key(b, "claude_below", strconv.Quote(orText(c.ClaudeBelow, DefaultClaudeBelow)),
		"sessions of Claude Code from this version on are not woken by their inbox socket")
}

func (u *User) print(b *strings.Builder) {
	b.WriteString("\n[user]\n")
	key(b, "terminals", list(u.Terminals), "programs at whose terminals you sit, besides those that are known")
	key(b, "confirm", strconv.FormatBool(u.Confirm), "ask for your passphrase before acts of weight, once a terminal")
}

func (t *TLS) print(b *strings.Builder) {
	b.WriteString("\n[tls]\n")
	key(b, "listen", strconv.Quote(t.Listen), `address for other machines, such as "0.0.0.0:8766"; "" for none`)
	key(b, "cert", strconv.Quote(t.Cert), "file of a certificate; without it one is made, and its fingerprint shown")
	key(b, "key", strconv.Quote(t.Key), "file of its key")
	key(b, "url", strconv.Quote(t.URL), `where other machines find it, if not there, such as "https://box.example"`)
}

func (r *Room) print(b *strings.Builder, section string) {
	fmt.Fprintf(b, "[%s]\n", section)
	key(b, "max_body", strconv.Itoa(orNumber(r.MaxBody, mail.MaxBody)), "bytes of a message's body")
	key(b, "tag_namespaces", list(r.TagNamespaces), "besides "+strings.Join(mail.TagNamespaces(), ", "))
	key(b, "orchestrators", list(r.Orchestrators), "names of agents that hold this role")
	fmt.Fprintf(b, "[%s.retention]\n", section)
	key(b, "age", quoted(r.Retention.Age, Duration(policy.DefaultAge)), "older messages go to the archive")
	key(b, "count", strconv.Itoa(orNumber(r.Retention.Count, policy.DefaultCount)),
		"of more messages, read and old ones go first; -1 for no limit")
	fmt.Fprintf(b, "[%s.ttl]\n", section)
	key(b, "agent", quoted(r.TTL.Agent, Duration(policy.DefaultAgentTTL)),
		"mail to an agent expires after so long unread")
	key(b, "tag", quoted(r.TTL.Tag, Duration(policy.DefaultTagTTL)), "mail to a tag")
	key(b, "all", quoted(r.TTL.All, Duration(policy.DefaultAllTTL)), "mail to all")
	r.Limits.print(b, section)
	r.printWakes(b, section)
}

// key writes one line, its comment in a column of its own.
func key(b *strings.Builder, name, value, comment string) {
	fmt.Fprintf(b, "%-40s # %s\n", name+" = "+value, comment)
}

func list[T ~string](words []T) string {
	quoted := make([]string, 0, len(words))
	for _, w := range words {
		quoted = append(quoted, strconv.Quote(string(w)))
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

func quoted(d, def Duration) string {
	if d == 0 {
		d = def
	}
	return strconv.Quote(d.String())
}

func orText(s, def string) string {
	if s == "" {
		return def
	}
	return s
}

func orNumber(n, def int) int {
	if n == 0 {
		return def
	}
	return n
}
