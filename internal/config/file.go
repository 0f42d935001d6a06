package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net/url"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"time"

	"pennypost/internal/base/durable"
	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// Config is the configuration of a post office. A zero value in it means the default.
type Config struct {
	Home Home `toml:"-"`

	// Listen is the TCP address, or "none". Empty means DefaultListen, and that the post office continues without TCP
	// if another process listens there.
	Listen string `toml:"listen"`
	// TokenSocket is the path of a Unix socket for other users and containers, which accepts only tokens. "": none.
	TokenSocket string   `toml:"token_socket"`
	Insecure    bool     `toml:"insecure"`  // allow Listen to be reached from other machines without TLS
	RoomIdle    Duration `toml:"room_idle"` // an unused room is closed after this; default 10m
	IdleExit    Duration `toml:"idle_exit"` // a post office that a command started exits after this; default 1h
	LogLevel    string   `toml:"log_level"` // debug, info, warn or error; default info
	// AgentCheck no longer has an effect: files of earlier versions may have it.
	AgentCheck string `toml:"agent_check"`
	// ClaudeBelow is the first version of Claude Code to whose inbox sockets nothing is written, "2.2.0" if empty.
	// Their protocol is undocumented.
	ClaudeBelow string `toml:"claude_below"`
	// ClaudeTeams decides about a Claude Code team whose lead is a session that hooks have reported: TeamsBridged, or
	// "" for that, or TeamsLeft.
	ClaudeTeams string `toml:"claude_teams"`

	User    User    `toml:"user"`    // how the person is recognised
	TLS     TLS     `toml:"tls"`     // for other machines
	Notify  Notify  `toml:"notify"`  // how the person is notified of mail
	Journal Journal `toml:"journal"` // where new rooms are kept
	Machine Machine `toml:"machine"` // on which the post office runs
	Outbox  Outbox  `toml:"outbox"`  // mail kept here while the connection to a room is away
	Events  Events  `toml:"events"`  // events for foreign programs over MCP

	Room  Room                   `toml:"room"`  // for every room
	Rooms map[mail.RoomName]Room `toml:"rooms"` // for single rooms, overriding Room
}

// User configures how the person is recognised.
type User struct {
	// Terminals are names of programs at which the person sits, in addition to the known terminal programs.
	Terminals []string `toml:"terminals"`
	// Confirm makes important acts ask for the person's passphrase, once per terminal.
	Confirm bool `toml:"confirm"`
}

// TLS is an address for other machines, such as a phone, in addition to Listen.
type TLS struct {
	Listen string `toml:"listen"` // HOST:PORT; "": none
	// Cert and Key are the files of a certificate, in PEM. Without them the post office creates one and keeps it.
	Cert string `toml:"cert"`
	Key  string `toml:"key"`
	// URL is where other machines find that address, if it differs, for example with a proxy; its host is then
	// accepted as ours.
	URL string `toml:"url"`
}

// address parses a URL that has a host and one of these schemes.
func address(s string, schemes ...string) (*url.URL, bool) {
	u, err := url.Parse(s)
	return u, err == nil && u.Host != "" && slices.Contains(schemes, u.Scheme)
}

// bad returns an error about a section.
func bad(section, format string, args ...any) error {
	return mail.Errorf(mail.Invalid, "[%s] "+format, append([]any{section}, args...)...)
}

// check returns what is wrong within t.
func (t *TLS) check() error {
	if (t.Cert == "") != (t.Key == "") {
		return bad("tls", "has only one of cert and key: name both files, or neither; without them a certificate "+
			"is made")
	}
	u, ok := address(t.URL, "https")
	if t.URL != "" && (!ok || u.Path != "" && u.Path != "/") {
		return bad("tls", "url is %q; write it like https://box.example", t.URL)
	}
	return nil
}

// Room is the configuration of a room.
type Room struct {
	MaxBody       int      `toml:"max_body"`       // bytes; default mail.MaxBody
	TagNamespaces []string `toml:"tag_namespaces"` // in addition to mail.TagNamespaces
	// Orchestrators are agents with that role, which no agent can give itself.
	Orchestrators []mail.Name `toml:"orchestrators"`
	Retention     Retention   `toml:"retention"`
	TTL           TTL         `toml:"ttl"`
	Limits        Limits      `toml:"limits"`
	A2A           A2A         `toml:"a2a"` // the door for guests who speak A2A
	// Claims decides about an agent's write to a file that another agent holds: a policy.ClaimRule; default warn.
	Claims      string   `toml:"claims"`
	ClaimsQuiet Duration `toml:"claims_quiet"` // how long after a turn a file stays its writer's
	// Scheduled is recurring mail, only in the section of a room.
	Scheduled []Scheduled `toml:"scheduled"`
	// GitHub turns GitHub's news into mail, only in the section of a room; nil: none.
	GitHub *GitHub `toml:"github"`
	// Wake configures how agents are woken, by "NAME", "role:ROLE" or "orchestrator". An empty entry in the section
	// of a room cancels that of all rooms.
	Wake map[string]Wake `toml:"wake"`
}

// Retention is policy.Retention in a configuration file.
type Retention struct {
	Age   Duration `toml:"age"`
	Count int      `toml:"count"` // negative: no limit
}

// TTL is policy.TTL in a configuration file.
type TTL struct {
	Agent Duration `toml:"agent"`
	Tag   Duration `toml:"tag"`
	All   Duration `toml:"all"`
}

// Defaults that are defined in no other package.
const (
	DefaultListen   = "127.0.0.1:8765"
	DefaultRoomIdle = Duration(10 * time.Minute)
	DefaultIdleExit = Duration(time.Hour)
	// DefaultClaudeBelow ends the minor version in which the message format was seen, and compared with later types.
	DefaultClaudeBelow = "2.2.0"
)

// Values of ClaudeTeams.
const (
	TeamsBridged = "bridge" // their directories are bridged
	TeamsLeft    = "leave"  // only the person bridges them
)

// maxBodyLimit keeps a journal line within the limits of the journal's readers.
const maxBodyLimit = 16 << 20

// Load returns the configuration of the post office at home: its config.toml, if there is one, overridden by the
// environment.
func Load(home Home, getenv func(string) string) (Config, error) {
	c := Config{Home: home}
	text, err := durable.ReadFile(home.File())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, fmt.Errorf("read the configuration: %w", err)
	}
	if err := c.parse(text); err != nil {
		return c, err
	}
	if err := c.overlay(getenv); err != nil {
		return c, err
	}
	cluster, err := LoadCluster(home)
	if err != nil {
		return c, err
	}
	c.join(cluster)
	return c, c.Check()
}

// overlay applies the environment variables.
func (c *Config) overlay(getenv func(string) string) error {
	for _, v := range []struct {
		name string
		into *string
	}{
		{"PENNYPOST_LISTEN", &c.Listen}, {"PENNYPOST_LOG", &c.LogLevel},
	} {
		if s := getenv(v.name); s != "" {
			*v.into = s
		}
	}
	for _, v := range []struct {
		name string
		into *Duration
	}{
		{"PENNYPOST_IDLE_EXIT", &c.IdleExit}, {"PENNYPOST_ROOM_IDLE", &c.RoomIdle},
	} {
		s := getenv(v.name)
		if s == "" {
			continue
		}
		d, err := ParseDuration(s)
		if err != nil {
			return mail.Errorf(mail.Invalid, "%s: %w", v.name, err)
		}
		*v.into = d
	}
	if s := getenv("PENNYPOST_INSECURE"); s != "" {
		c.Insecure = s == "1" || s == "true"
	}
	return nil
}

// Check returns what is wrong with the values. It sets no defaults.
func (c *Config) Check() error {
	if _, err := c.Level(); err != nil {
		return err
	}
	if c.TokenSocket != "" && !filepath.IsAbs(c.TokenSocket) {
		return mail.Errorf(mail.Invalid, "token_socket is %q; write an absolute path, like %q", c.TokenSocket,
			"/srv/agents/pennypost.sock")
	}
	if err := c.checkListen(); err != nil {
		return err
	}
	if c.ClaudeBelow != "" && !regexp.MustCompile(`^\d{1,6}\.\d{1,6}\.\d{1,6}$`).MatchString(c.ClaudeBelow) {
		return mail.Errorf(mail.Invalid, "claude_below is %q; write a version, like %q", c.ClaudeBelow,
			DefaultClaudeBelow)
	}
	if c.ClaudeTeams != "" && c.ClaudeTeams != TeamsBridged && c.ClaudeTeams != TeamsLeft {
		return mail.Errorf(mail.Invalid, "claude_teams is %q; write %q or %q", c.ClaudeTeams, TeamsBridged, TeamsLeft)
	}
	if err := cmp.Or(c.TLS.check(), c.Notify.check(), c.Journal.check(), c.Machine.check(), c.Outbox.check(),
		c.Room.check("room")); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(c.Rooms)) {
		if _, err := mail.ParseRoom(string(name)); err != nil {
			return err
		}
		r := c.Rooms[name]
		if err := r.check("rooms." + string(name)); err != nil {
			return err
		}
	}
	return nil
}

func (r *Room) check(section string) error {
	if r.MaxBody < 0 || r.MaxBody > maxBodyLimit {
		return bad(section, "max_body is %d; use 1 to %d bytes", r.MaxBody, maxBodyLimit)
	}
	for _, ns := range r.TagNamespaces {
		if _, err := mail.ParseRole(ns); err != nil || ns == "agent" || ns == "role" || ns == "far" {
			return bad(section, "tag_namespaces contains %q; use plain words other than agent, role and far", ns)
		}
	}
	for _, n := range r.Orchestrators {
		if _, err := mail.ParseName(string(n)); err != nil {
			return bad(section, "orchestrators: %w", err)
		}
	}
	if rules := policy.ClaimRules(); r.Claims != "" && !slices.Contains(rules, policy.ClaimRule(r.Claims)) {
		return bad(section, "claims is %q; use off, warn or refuse", r.Claims)
	}
	if r.ClaimsQuiet < 0 || time.Duration(r.ClaimsQuiet) > time.Hour {
		return bad(section, "claims_quiet is %s; use at most 1h", r.ClaimsQuiet)
	}
	return cmp.Or(r.A2A.check(section), r.checkScheduled(section), r.checkGitHub(section), checkWakes(section, r.Wake))
}

// Level returns the lowest level that is logged.
func (c *Config) Level() (slog.Level, error) {
	level, ok := map[string]slog.Level{"debug": slog.LevelDebug, "": slog.LevelInfo, "info": slog.LevelInfo,
		"warn": slog.LevelWarn, "error": slog.LevelError}[c.LogLevel]
	if !ok {
		return 0, mail.Errorf(mail.Invalid, "log_level is %q; use debug, info, warn or error", c.LogLevel)
	}
	return level, nil
}

// For returns the configuration of one room: its own section overrides [room].
func (c *Config) For(name mail.RoomName) Room {
	own := c.Rooms[name]
	r := over(c.Room, own)
	r.Wake = wakes(c.Room.Wake, own.Wake)
	return r
}

// over returns all, overridden by own: an unset key overrides nothing.
func over[T any](all, own T) T {
	lay(reflect.ValueOf(&all).Elem(), reflect.ValueOf(own))
	return all
}

func lay(into, own reflect.Value) {
	for i := range own.NumField() {
		switch said := own.Field(i); {
		case said.Kind() == reflect.Struct:
			lay(into.Field(i), said)
		case !said.IsZero():
			into.Field(i).Set(said)
		}
	}
}

// Policy returns r's retention and TTLs in the types of the policy package.
func (r Room) Policy() (policy.Retention, policy.TTL) {
	return policy.Retention{Age: time.Duration(r.Retention.Age), Count: r.Retention.Count},
		policy.TTL{Agent: time.Duration(r.TTL.Agent), Tag: time.Duration(r.TTL.Tag), All: time.Duration(r.TTL.All)}
}

// plainText returns the text of a file without the byte order mark that Windows editors add. TOML is UTF-8 only.
func plainText(file string, text []byte) ([]byte, error) {
	if bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")) {
		return nil, mail.Errorf(mail.Invalid, "%s is UTF-16 text; save it as UTF-8. It was not read", file)
	}
	return bytes.TrimPrefix(text, []byte("\ufeff")), nil
}
