package config

import (
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"

	"pennypost/internal/mail"
)

// Journal says where the rooms are kept that this post office makes. One that is made stays where it is: see
// "pennypost rooms move".
type Journal struct {
	Kind     string   `toml:"kind"`     // KindFile, the default, or KindJetStream
	URLs     []string `toml:"urls"`     // of the NATS servers
	Replicas int      `toml:"replicas"` // of each room; default DefaultReplicas
	// Monitor are the addresses of the servers' monitoring, where their settings are read. Without them the system
	// account is asked, if these credentials may.
	Monitor     []string `toml:"monitor"`
	Credentials string   `toml:"credentials"` // file of NATS credentials
	CA          string   `toml:"ca"`          // file of the certificates that the servers' are signed by, in PEM
	Cert        string   `toml:"cert"`        // file of this machine's certificate
	Key         string   `toml:"key"`         // file of its key
	Prefix      string   `toml:"prefix"`      // of the names of streams; default DefaultPrefix
}

// Machine is the machine on which the post office runs.
type Machine struct {
	Name mail.Machine `toml:"name"` // default: the name of the host
}

// What Journal.Kind may be.
const (
	KindFile      = "file"
	KindJetStream = "jetstream"
)

// Defaults of Journal.
const (
	DefaultReplicas = 3
	DefaultPrefix   = "pennypost"
)

// maxReplicas is what a NATS server allows.
const maxReplicas = 5

// Clustered reports whether there are NATS servers to keep rooms on.
func (j *Journal) Clustered() bool { return len(j.URLs) > 0 }

// check returns what is wrong with j.
func (j *Journal) check() error {
	bad := func(format string, args ...any) error {
		return mail.Errorf(mail.Invalid, "[journal] "+format, args...)
	}
	switch {
	case j.Kind != "" && j.Kind != KindFile && j.Kind != KindJetStream:
		return bad("kind is %q; it can be %q or %q", j.Kind, KindFile, KindJetStream)
	case j.Kind == KindJetStream && len(j.URLs) == 0:
		return bad("names no servers; write them like urls = [\"nats://10.0.0.1:4222\", \"nats://10.0.0.2:4222\"]")
	case j.Replicas < 0 || j.Replicas > maxReplicas:
		return bad("replicas is %d; use %d, or 1 to %d", j.Replicas, DefaultReplicas, maxReplicas)
	case (j.Cert == "") != (j.Key == ""):
		return bad("has cert or key alone; name both files, or neither")
	case j.Prefix != "" && !regexp.MustCompile(`^[A-Za-z0-9-]{1,32}$`).MatchString(j.Prefix):
		return bad("prefix is %q; use up to 32 letters, digits and -", j.Prefix)
	}
	for _, s := range j.URLs {
		u, err := url.Parse(s)
		if err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls" && u.Scheme != "ws" &&
			u.Scheme != "wss" {
			return bad("urls holds %q; write it like nats://10.0.0.1:4222, or tls://…", withoutPassword(u, s))
		}
	}
	for _, s := range j.Monitor {
		u, err := url.Parse(s)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return bad("monitor holds %q; write it like http://10.0.0.1:8222", withoutPassword(u, s))
		}
	}
	return nil
}

// withoutPassword is an address as it may be shown. u is what was understood of it, nil if nothing was.
func withoutPassword(u *url.URL, s string) string {
	switch {
	case u != nil:
		return u.Redacted()
	case strings.Contains(s, "@"):
		return "…@" + s[strings.LastIndexByte(s, '@')+1:]
	}
	return s
}

func (m *Machine) check() error {
	if m.Name == "" {
		return nil
	}
	if _, err := mail.ParseMachine(string(m.Name)); err != nil {
		return mail.Errorf(mail.Invalid, "[machine] name: %w", err)
	}
	return nil
}

// MachineName returns by which name the machine is known: that of the configuration, else that of the host.
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

func (c *Config) printJournal(b *strings.Builder) {
	j := &c.Journal
	b.WriteString("\n# Where new rooms are kept.\n[journal]\n")
	key(b, "kind", quotedText(orText(j.Kind, KindFile)), `"file", or "jetstream": on NATS servers, for many machines`)
	redacted := make([]string, 0, len(j.URLs))
	secret := false
	for _, s := range j.URLs {
		u, _ := url.Parse(s)
		redacted = append(redacted, withoutPassword(u, s))
		secret = secret || u != nil && u.User != nil
	}
	about := `addresses of all NATS servers, such as "nats://10.0.0.1:4222"`
	if secret {
		about = "the passwords in them are not printed"
	}
	key(b, "urls", list(redacted), about)
	key(b, "replicas", strconv.Itoa(orNumber(j.Replicas, DefaultReplicas)), "servers that keep each room")
	key(b, "monitor", list(j.Monitor), `where the servers' settings are read, such as "http://10.0.0.1:8222"`)
	key(b, "credentials", quotedText(j.Credentials), "file of NATS credentials")
	key(b, "ca", quotedText(j.CA), "file of the certificates that the servers' are signed by")
	key(b, "cert", quotedText(j.Cert), "file of this machine's certificate, if the servers want one")
	key(b, "key", quotedText(j.Key), "file of its key")
	key(b, "prefix", quotedText(orText(j.Prefix, DefaultPrefix)), "of the names of streams on the servers")
	b.WriteString("\n[machine]\n")
	key(b, "name", quotedText(string(c.MachineName())),
		"as which other machines know this one; default: the host's name")
}
