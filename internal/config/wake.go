package config

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// Wake configures how one agent, or the holder of a role, is woken. If several ways are set, the next one is tried
// when one fails, in the order of the fields.
type Wake struct {
	OpenCode string   `toml:"opencode"` // the server's address of the agent's opencode, optionally with ?directory=
	Password Password `toml:"password"` // for that server
	Exec     []string `toml:"exec"`     // a command and its arguments, run without a shell
	ACP      []string `toml:"acp"`      // an agent's program that speaks ACP, and its arguments
	Dir      string   `toml:"dir"`      // its working directory; default: that of the agent's last session
	When     string   `toml:"when"`     // Exec is run always, or WhenGone, like ACP
	Webhook  string   `toml:"webhook"`  // an address for POST
	Secret   Secret   `toml:"secret"`   // signs the requests to it
	Tmux     bool     `toml:"tmux"`     // type into the pane of the agent's session
	Timeout  Duration `toml:"timeout"`  // of each except tmux; default 30s, of ACP 30m
	Budget   int      `toml:"budget"`   // fruitless rings per hour; default policy.DefaultBudget
}

// WhenGone says that a command resumes the agent's session, so that it must not run while the session lives.
const WhenGone = "gone"

// Limits and defaults of a Wake.
const (
	DefaultWakeTimeout = Duration(30 * time.Second)
	DefaultTurnTimeout = Duration(30 * time.Minute) // of ACP: the time limit of a turn
	maxWakeTimeout     = Duration(time.Hour)
	maxWakeBudget      = 1000
)

// anyone is the placeholder for the name of an agent or a role in lists of keys.
const anyone = "NAME"

// Secret is the key of a webhook. In a file it is "whsec_" and the base64 of 24 to 64 bytes, as in Standard Webhooks.
// It does not print.
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

// String hides the secret.
func (s Secret) String() string { return "(secret)" }

// GoString hides the secret.
func (s Secret) GoString() string { return s.String() }

// Password is text that does not print.
type Password string

// String hides the password.
func (Password) String() string { return "(secret)" }

// GoString hides the password.
func (p Password) GoString() string { return p.String() }

// Empty reports whether the entry has no way to wake: it cancels that of all rooms.
func (w *Wake) Empty() bool {
	return w.OpenCode == "" && len(w.Exec) == 0 && len(w.ACP) == 0 && w.Webhook == "" && !w.Tmux
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
			return mail.Errorf(mail.Invalid, "[%s] and [%s] are for the same agents; keep one", known[a], table)
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
	switch {
	case w.Empty() && strings.HasPrefix(section, "room."):
		return bad(section, "has no way to wake; set exec, acp, webhook, opencode or tmux")
	case w.OpenCode != "" && !isOpenCode(w.OpenCode):
		return bad(section, "opencode must be the address of a server on this machine, like "+
			"http://127.0.0.1:4096, or an https address; put its password in password")
	case w.Password != "" && w.OpenCode == "":
		return bad(section, "has a password, but no opencode whose server wants it")
	}
	err := cmp.Or(w.checkExec(section), w.checkACP(section))
	if err == nil && w.Webhook != "" {
		err = checkWebhook(section, w.Webhook, w.Secret)
	}
	err = cmp.Or(err, checkTimeout(section, w.Timeout))
	if err == nil && (w.Budget < 0 || w.Budget > maxWakeBudget) {
		err = bad(section, "budget is %d; use 1 to %d rings an hour", w.Budget, maxWakeBudget)
	}
	return err
}

// checkExec returns what is wrong with the command.
func (w *Wake) checkExec(section string) error {
	names := func(word string) bool { return strings.Contains(word, "{session}") }
	switch {
	case w.Exec != nil && noCommand(w.Exec):
		return bad(section,
			"exec is not a command; write it like exec = [\"notify-send\", \"{agent} has {unread} unread\"]")
	case w.When != "" && (w.When != WhenGone || len(w.Exec)+len(w.ACP) == 0):
		return bad(section, "when is %q; use \"gone\", with exec or acp", w.When)
	case w.When == WhenGone && len(w.Exec) > 0 && !filepath.IsAbs(w.Exec[0]) && strings.ContainsRune(w.Exec[0], '/'):
		return bad(section, "exec would be looked up in the directory of the session; write the program's "+
			"absolute path, or its name alone")
	case w.When == "" && slices.ContainsFunc(w.Exec, names):
		return bad(section, "exec contains {session}; set when = \"gone\", so that no live session is resumed")
	}
	return nil
}

// checkACP returns what is wrong with the program that speaks ACP.
func (w *Wake) checkACP(section string) error {
	switch {
	case w.ACP != nil && noCommand(w.ACP):
		return bad(section, "acp is not a command; write it like acp = [\"gemini\", \"--acp\"]")
	case len(w.ACP) > 0 && !filepath.IsAbs(w.ACP[0]) && strings.ContainsRune(w.ACP[0], '/'):
		return bad(section, "acp would be looked up in the directory of the session; write the program's "+
			"absolute path, or its name alone")
	case w.Dir != "" && (len(w.ACP) == 0 || !filepath.IsAbs(w.Dir) || strings.ContainsRune(w.Dir, 0)):
		return bad(section, "dir is %q; use an absolute path, with acp: where the agent works", w.Dir)
	}
	return nil
}

// noCommand reports whether the words cannot be a command.
func noCommand(exec []string) bool {
	return len(exec) == 0 || exec[0] == "" || strings.Contains(strings.Join(exec, ""), "\x00")
}

// checkWebhook returns what is wrong with a webhook's address and key.
func checkWebhook(section, to string, key Secret) error {
	switch {
	case !isWebhook(to):
		return bad(section, "webhook must be an http or https address without a user")
	case key == nil:
		return bad(section, "has a webhook and no secret; make one with: echo whsec_$(openssl rand -base64 32)")
	}
	return nil
}

func checkTimeout(section string, d Duration) error {
	if d < 0 || d > maxWakeTimeout {
		return bad(section, "timeout is %s; use 1ms to %s", d, maxWakeTimeout)
	}
	return nil
}

func isWebhook(s string) bool {
	u, ok := address(s, "http", "https")
	return ok && u.User == nil
}

// isOpenCode accepts servers of this machine, and others only with TLS: an eavesdropper would get the password, and
// so the session.
func isOpenCode(s string) bool {
	u, ok := address(s, "http", "https")
	if !ok || strings.Trim(u.Path, "/") != "" {
		return false
	}
	if _, has := u.User.Password(); has {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Scheme == "https" || u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
}

// WakeAddress returns the address that an entry is about: a bare word is an agent's name, "orchestrator" the holder
// of that role.
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
		return "", mail.Errorf(mail.Invalid, "you are not woken as agents are; for your notifications use the "+
			"sections [notify.…] (docs/notify.md)")
	}
	return "", mail.Errorf(mail.Invalid, "%q cannot be woken; write an agent's name, role:ROLE or orchestrator", who)
}

// wakes returns the entries of all rooms, overridden by a room's own. Their keys are addresses, so that different
// spellings match.
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

// printWakes writes the entries of a section, without secrets.
func (r *Room) printWakes(b *strings.Builder, name string) {
	if len(r.Wake) == 0 {
		fmt.Fprintf(b, "# [%s.wake.%s]: how an agent is woken (also \"role:ROLE\", orchestrator):\n"+
			"# opencode, password, exec, acp, dir, when, webhook, secret, tmux, timeout, budget\n", name, anyone)
	}
	for _, who := range slices.Sorted(maps.Keys(r.Wake)) {
		w := r.Wake[who]
		section(b, name+".wake."+quotedKey(strings.TrimPrefix(who, "agent:")), w.rows()...)
	}
}

func (w *Wake) rows() []row {
	if w.Empty() {
		return []row{{absent: "not woken here, even if [room.wake] is set"}}
	}
	var exec, acp, tmux any
	limit := DefaultWakeTimeout
	if len(w.Exec) > 0 {
		exec = w.Exec
	}
	if len(w.ACP) > 0 {
		acp = w.ACP
	}
	if acp != nil && exec == nil && w.OpenCode == "" && w.Webhook == "" {
		limit = DefaultTurnTimeout
	}
	if w.Tmux {
		tmux = true
	}
	return []row{
		{name: "opencode", value: given(w.OpenCode),
			about: "server of the agent's opencode, whose newest session is prompted",
			note:  "password, if one is set, is not printed"},
		{name: "exec", value: exec,
			about: "run without a shell; {room}, {agent}, {role}, {unread}, {urgent}, {session} are replaced"},
		{name: "acp", value: acp,
			about: "a program that speaks ACP, for a turn of an agent without a session; placeholders as in exec"},
		{name: "dir", value: given(w.Dir), about: "where it works"},
		{name: "when", value: given(w.When),
			about: "run the command only if the agent's session is known to have ended"},
		{name: "webhook", value: given(w.Webhook), about: "signed POST (Standard Webhooks)", note: secretSet},
		{name: "tmux", value: tmux,
			about: "type into the empty prompt of its session, if that runs in tmux and all else has failed"},
		{name: "timeout", value: cmp.Or(w.Timeout, limit),
			about: "time limit for a command, a server, or a turn over ACP"},
		{name: "budget", value: cmp.Or(w.Budget, policy.DefaultBudget),
			about: "rings without effect in an hour; urgent mail may cause as many again"},
	}
}

// secretSet is the note below a webhook.
const secretSet = "secret is set, and not printed"

// quotedKey writes a name as part of a TOML key.
func quotedKey(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == "" {
		return s
	}
	return quoted(s)
}
