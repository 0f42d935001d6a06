package config

import (
	"cmp"
	"net/url"
	"os"
	"regexp"
	"strings"

	"pennypost/internal/mail"
)

// Journal configures where this post office keeps the rooms that it creates. Existing rooms stay where they are: see
// "pennypost rooms move".
type Journal struct {
	Kind     string   `toml:"kind"`     // KindFile, the default, or KindJetStream
	URLs     []string `toml:"urls"`     // of the NATS servers
	Replicas int      `toml:"replicas"` // of each room; default DefaultReplicas
	// Monitor are the addresses of the servers' monitoring, where their settings are read. Without them the system
	// account is asked, if these credentials are allowed to.
	Monitor     []string `toml:"monitor"`
	Credentials string   `toml:"credentials"` // file of NATS credentials
	CA          string   `toml:"ca"`          // file of the CA certificates that signed the servers', in PEM
	Cert        string   `toml:"cert"`        // file of this machine's certificate
	Key         string   `toml:"key"`         // file of its key
	Prefix      string   `toml:"prefix"`      // of stream names; default DefaultPrefix
	// Servers is the number of machines in the cluster that "pennypost cluster" has made or joined, whose servers
	// know this one by its key: see ClusterTLS. 0: the servers are others, or there are none.
	Servers int `toml:"-"`
}

// Machine is the machine on which the post office runs.
type Machine struct {
	Name mail.Machine `toml:"name"` // default: the host name
	// Admit decides who may enter rooms on NATS servers: AdmitListed, the default, or AdmitAnyone.
	Admit string `toml:"admit"`
}

// Values of Machine.Admit.
const (
	AdmitListed = "listed" // admitted machines and members of the cluster of "pennypost cluster"
	AdmitAnyone = "anyone" // any machine with the servers' password, by the first key that it shows
)

// Outbox limits the mail that is kept on this machine while the connection to a room is away.
type Outbox struct {
	Letters   int `toml:"letters"`   // default DefaultOutboxLetters; -1: none is kept
	Megabytes int `toml:"megabytes"` // of its file; default DefaultOutboxMegabytes
}

// Defaults of Outbox.
const (
	DefaultOutboxLetters   = 10000
	DefaultOutboxMegabytes = 64
)

func (o *Outbox) check() error {
	if o.Letters < -1 || o.Megabytes < 0 || o.Megabytes > 1<<20 {
		return bad("outbox", "letters is %d and megabytes %d; omit them for %d and %d, or write letters = -1 to "+
			"keep nothing", o.Letters, o.Megabytes, DefaultOutboxLetters, DefaultOutboxMegabytes)
	}
	return nil
}

func (o *Outbox) rows() []row {
	return []row{
		{name: "letters", value: cmp.Or(o.Letters, DefaultOutboxLetters),
			about: "messages kept on this machine while their rooms are unreachable; -1 for none"},
		{name: "megabytes", value: cmp.Or(o.Megabytes, DefaultOutboxMegabytes), about: "their maximum size"},
	}
}

// Values of Journal.Kind.
const (
	KindFile      = "file"
	KindJetStream = "jetstream"
)

// Defaults of Journal.
const (
	DefaultReplicas = 3
	DefaultPrefix   = "pennypost"
)

// maxReplicas is the NATS servers' limit.
const maxReplicas = 5

// Clustered reports whether there are NATS servers for rooms.
func (j *Journal) Clustered() bool { return len(j.URLs) > 0 }

// check returns what is wrong with j.
func (j *Journal) check() error {
	switch {
	case j.Kind != "" && j.Kind != KindFile && j.Kind != KindJetStream:
		return bad("journal", "kind is %q; use %q or %q", j.Kind, KindFile, KindJetStream)
	case j.Kind == KindJetStream && len(j.URLs) == 0:
		return bad("journal",
			"names no servers; write them like urls = [\"nats://10.0.0.1:4222\", \"nats://10.0.0.2:4222\"]")
	case j.Replicas < 0 || j.Replicas > maxReplicas:
		return bad("journal", "replicas is %d; use %d, or 1 to %d", j.Replicas, DefaultReplicas, maxReplicas)
	case (j.Cert == "") != (j.Key == ""):
		return bad("journal", "has only one of cert and key; name both files, or neither")
	case j.Prefix != "" && !regexp.MustCompile(`^[A-Za-z0-9-]{1,32}$`).MatchString(j.Prefix):
		return bad("journal", "prefix is %q; use up to 32 letters, digits and -", j.Prefix)
	}
	for _, s := range j.URLs {
		if _, ok := address(s, "nats", "tls", "ws", "wss"); !ok {
			return bad("journal", "urls contains %q; write it like nats://10.0.0.1:4222, or "+
				"tls://…", withoutPassword(s))
		}
	}
	for _, s := range j.Monitor {
		if _, ok := address(s, "http", "https"); !ok {
			return bad("journal", "monitor contains %q; write it like http://10.0.0.1:8222", withoutPassword(s))
		}
	}
	return nil
}

// withoutPassword returns an address that is safe to show.
func withoutPassword(s string) string {
	if u, err := url.Parse(s); err == nil {
		return u.Redacted()
	}
	if at := strings.LastIndexByte(s, '@'); at >= 0 {
		return "…" + s[at:]
	}
	return s
}

func (m *Machine) check() error {
	if m.Admit != "" && m.Admit != AdmitListed && m.Admit != AdmitAnyone {
		return bad("machine", "admit is %q; use %q or %q", m.Admit, AdmitListed, AdmitAnyone)
	}
	if m.Name == "" {
		return nil
	}
	if _, err := mail.ParseMachine(string(m.Name)); err != nil {
		return bad("machine", "name: %w", err)
	}
	return nil
}

// MachineName returns the name of the machine: the configured one, else the host's.
func (c *Config) MachineName() mail.Machine {
	if c.Machine.Name != "" {
		return c.Machine.Name
	}
	host, _ := os.Hostname()
	host, _, _ = strings.Cut(host, ".")
	host = strings.Map(func(r rune) rune {
		if r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_') {
			return r
		}
		return '-'
	}, host)
	if name, err := mail.ParseMachine(strings.Trim(host, "-_")); err == nil {
		return name
	}
	return "machine"
}

func (j *Journal) rows() []row {
	about := `addresses of all NATS servers, such as "nats://10.0.0.1:4222"`
	shown := make([]string, len(j.URLs))
	for i, s := range j.URLs {
		if shown[i] = withoutPassword(s); strings.Contains(s, "@") {
			about = "passwords in them are not printed"
		}
	}
	return []row{
		{name: "kind", value: cmp.Or(j.Kind, KindFile),
			about: `"file", or "jetstream": on NATS servers, for many machines`},
		{name: "urls", value: shown, about: about},
		{name: "replicas", value: cmp.Or(j.Replicas, DefaultReplicas), about: "servers that keep each room"},
		{name: "monitor", value: j.Monitor,
			about: `addresses for reading the servers' settings, such as "http://10.0.0.1:8222"`},
		{name: "credentials", value: j.Credentials, about: "file of NATS credentials"},
		{name: "ca", value: j.CA, about: "file of the certificates that sign the servers' certificates"},
		{name: "cert", value: j.Cert, about: "file of this machine's certificate, if the servers require one"},
		{name: "key", value: j.Key, about: "file of its key"},
		{name: "prefix", value: cmp.Or(j.Prefix, DefaultPrefix), about: "of the names of streams on the servers"},
	}
}
