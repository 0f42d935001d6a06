package config

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// Wake is how one agent, or whoever holds a role, is woken. Of several ways the next is tried if one fails, in the
// order of the fields.
type Wake struct {
	OpenCode string   `toml:"opencode"` // the address of the server of the agent's opencode, and perhaps ?directory=
	Password Password `toml:"password"` // that the server wants
	Exec     []string `toml:"exec"`     // a command and its arguments, run without a shell
	When     string   `toml:"when"`     // Exec is run always, or WhenGone
	Webhook  string   `toml:"webhook"`  // an address for POST
	Secret   Secret   `toml:"secret"`   // that signs what is sent there
	Tmux     bool     `toml:"tmux"`     // type into the pane of its session
	Timeout  Duration `toml:"timeout"`  // of each but tmux; default 30s
	Budget   int      `toml:"budget"`   // rings in vain in an hour; default policy.DefaultBudget
}

// WhenGone says of a command that it resumes the agent's session, so that it must not be run while that lives.
const WhenGone = "gone"

// Limits of a Wake, and its default.
const (
	DefaultWakeTimeout = Duration(30 * time.Second)
	maxWakeTimeout     = Duration(time.Hour)
	maxWakeBudget      = 1000
)

// anyone stands for the name of an agent or a role where keys are listed.
const anyone = "NAME"

// Secret is the key of a webhook. In a file it is "whsec_" and the base64 of 24 to 64 bytes, as Standard Webhooks has
// it. It does not print.
type Secret []byte

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Secret) UnmarshalText(b []byte) error {
	encoded, ok := strings.CutPrefix(string(b), "whsec_")
	key, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil || len(key) < 24 || len(key) > 64 {
		return mail.Errorf(mail.Invalid, "a secret is whsec_ and the base64 of 24 to 64 bytes; make one with: echo "+
			"whsec_$(openssl rand -base64 32)")
	}
	*s = key
	return nil
}

// String does not tell.
func (s Secret) String() string { return "(secret)" }

// GoString does not tell.
func (s Secret) GoString() string { return s.String() }

// Password is text that does not print.
type Password string

// String does not tell.
func (Password) String() string { return "(secret)" }

// GoString does not tell.
func (p Password) GoString() string { return p.String() }

// Empty reports whether the entry has no way to wake: it takes away what all rooms have.
func (w *Wake) Empty() bool {
	return w.OpenCode == "" && len(w.Exec) == 0 && w.Webhook == "" && !w.Tmux
}

// checkWakes returns what is wrong with the entries of a section.
func checkWakes(section string, entries map[string]Wake) error {
	known := make(map[mail.Address]string, len(entries))
	for _, who := range slices.Sorted(maps.Keys(entries)) {
		w, table := entries[who], section+".wake."+quotedKey(who)
		a, err := WakeAddress(who)
		if err != nil {
			return mail.Errorf(mail.Invalid, "[%s]: %w", table, err)
		}
		if known[a] != "" {
			return mail.Errorf(mail.Invalid, "[%s] and [%s] are about the same; keep one", known[a], table)
		}
		known[a] = table
		if err := w.check(table); err != nil {
			return err
		}
	}
	return nil
}

// check returns what is wrong with the entry of a section.
func (w *Wake) check(section string) error {
	bad := func(format string, args ...any) error {
		return mail.Errorf(mail.Invalid, "[%s] %s", section, fmt.Sprintf(format, args...))
	}
	switch {
	case w.Empty() && strings.HasPrefix(section, "room."):
		return bad("says no way to wake; set exec, webhook, opencode or tmux")
	case w.OpenCode != "" && !isOpenCode(w.OpenCode):
		return bad("opencode is not the address of a server of this machine, like http://127.0.0.1:4096, nor an " +
			"https one; its password stands in password")
	case w.Password != "" && w.OpenCode == "":
		return bad("has a password, and no opencode whose server wants it")
	case w.Exec != nil && (len(w.Exec) == 0 || w.Exec[0] == "" || strings.Contains(strings.Join(w.Exec, ""), "\x00")):
		return bad("exec is no command; write it like exec = [\"notify-send\", \"{agent} has {unread} unread\"]")
	case w.When != "" && (w.When != WhenGone || len(w.Exec) == 0):
		return bad("when is %q; it can be \"gone\", beside exec", w.When)
	case w.When == WhenGone && !filepath.IsAbs(w.Exec[0]) && strings.ContainsRune(w.Exec[0], '/'):
		return bad("exec would be looked for in the directory of the session; write the program's whole path, or " +
			"its name alone")
	case w.When == "" && slices.ContainsFunc(w.Exec, func(word string) bool {
		return strings.Contains(word, "{session}")
	}):
		return bad("exec names {session}; set when = \"gone\", so that no session is resumed that lives")
	case w.Webhook != "" && !isWebhook(w.Webhook):
		return bad("webhook is not an http or https address without a user")
	case w.Webhook != "" && w.Secret == nil:
		return bad("has a webhook and no secret; make one with: echo whsec_$(openssl rand -base64 32)")
	case w.Timeout < 0 || w.Timeout > maxWakeTimeout:
		return bad("timeout is %s; use 1ms to %s", w.Timeout, maxWakeTimeout)
	case w.Budget < 0 || w.Budget > maxWakeBudget:
		return bad("budget is %d; use 1 to %d rings an hour", w.Budget, maxWakeBudget)
	}
	return nil
}

func isWebhook(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil
}

// isOpenCode accepts servers of this machine, and others only behind TLS: the password, and so the session, is for
// whoever listens in.
func isOpenCode(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || strings.Trim(u.Path, "/") != "" {
		return false
	}
	if _, has := u.User.Password(); has {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || err == nil && ip.IsLoopback())
}

// WakeAddress returns whose doors an entry is about: a bare word is an agent's name, "orchestrator" whoever holds that
// role.
func WakeAddress(who string) (mail.Address, error) {
	a, bare, err := mail.ParseAddress(who, nil)
	if err != nil {
		return "", err
	}
	if bare {
		a = mail.AgentAddress(mail.Name(who))
	}
	switch a.Kind() {
	case mail.ToRole:
		return a, nil
	case mail.ToAgent:
		name, err := mail.ParseName(a.Value())
		return mail.AgentAddress(name), err
	}
	if a.Kind() == mail.ToPerson {
		return "", mail.Errorf(mail.Invalid, "you are not woken as agents are; how you are told of mail is what the "+
			"sections [notify.…] say (docs/notify.md)")
	}
	return "", mail.Errorf(mail.Invalid, "%q cannot be woken; write an agent's name, role:ROLE or orchestrator", who)
}

// wakes returns the entries of all rooms with a room's own on top. Their keys are addresses, so that one spelling
// meets the other.
func wakes(all, own map[string]Wake) map[string]Wake {
	out := make(map[string]Wake, len(all)+len(own))
	for _, entries := range []map[string]Wake{all, own} {
		for who, w := range entries {
			if a, err := WakeAddress(who); err == nil {
				who = string(a)
			}
			out[who] = w
		}
	}
	return out
}

// printWakes writes the entries of a section. Secrets are not among what it writes.
func (r *Room) printWakes(b *strings.Builder, section string) {
	if len(r.Wake) == 0 {
		fmt.Fprintf(b, "# [%s.wake.%s]: how an agent is woken (also \"role:ROLE\", orchestrator):\n"+
			"# opencode, password, exec, when, webhook, secret, tmux, timeout, budget\n", section, anyone)
	}
	for _, who := range slices.Sorted(maps.Keys(r.Wake)) {
		w := r.Wake[who]
		fmt.Fprintf(b, "[%s.wake.%s]\n", section, quotedKey(strings.TrimPrefix(who, "agent:")))
		if w.Empty() {
			b.WriteString("# not woken here, whatever [room.wake] says\n")
			continue
		}
		if w.OpenCode != "" {
			key(b, "opencode", quotedText(w.OpenCode),
				"server of the agent's opencode, whose newest session is prompted")
			b.WriteString("# password, if one is set, is not printed\n")
		}
		if len(w.Exec) > 0 {
			key(b, "exec", texts(w.Exec),
				"run without a shell; {room}, {agent}, {role}, {unread}, {urgent}, {session} are replaced")
		}
		if w.When != "" {
			key(b, "when", quotedText(w.When), "the command is run only if the agent's session is known to have ended")
		}
		if w.Webhook != "" {
			key(b, "webhook", quotedText(w.Webhook), "signed POST (Standard Webhooks)")
			b.WriteString("# secret is set, and not printed\n")
		}
		if w.Tmux {
			key(b, "tmux", "true",
				"type into the empty prompt of its session, if that runs in tmux and all else has failed")
		}
		key(b, "timeout", quoted(w.Timeout, DefaultWakeTimeout),
			"the command is killed, a server given up, after so long")
		key(b, "budget", strconv.Itoa(orNumber(w.Budget, policy.DefaultBudget)),
			"rings in vain in an hour; urgent mail may cause as many again")
	}
}

// quotedKey writes a name as part of a TOML key.
func quotedKey(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == "" {
		return s
	}
	return quotedText(s)
}

// quotedText writes a TOML basic string, whose escapes are fewer than Go's.
func quotedText(s string) string {
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
