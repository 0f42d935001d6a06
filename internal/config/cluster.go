package config

import (
	"bytes"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"pennypost/internal/base/durable"
	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/selfsigned"
	"pennypost/internal/mail"
)

// routesAbove is the distance from the port for post offices up to the port for other servers.
const routesAbove = 2000

// Cluster is a machine's view of the cluster that "pennypost cluster" has made or joined: its copy of the servers'
// list.
type Cluster struct {
	ID       string       `json:"id"`       // of the cluster
	Machine  mail.Machine `json:"machine"`  // this one; its server has the same name
	Revision uint64       `json:"revision"` // of the list
	Members  []Member     `json:"members"`  // by name
	// Gone are the names of removed machines, which cannot be reused: servers keep them out.
	Gone []mail.Machine `json:"gone,omitempty"`
	// Stopped says that the person has stopped the server here, so that only the person may start it.
	Stopped bool `json:"stopped,omitzero"`
	// Removed says that the others have removed this machine.
	Removed bool `json:"removed,omitzero"`
}

// Member is a machine of a cluster, with a server and a post office.
type Member struct {
	Machine mail.Machine `json:"machine"`
	Key     []byte       `json:"key"`     // public, as a SubjectPublicKeyInfo
	Address string       `json:"address"` // HOST:PORT for post offices
	Joined  mail.Time    `json:"joined"`
}

// Signing returns the key with which the member signs messages to rooms, nil if it has none.
func (m *Member) Signing() []byte {
	key, _ := x509.ParsePKIXPublicKey(m.Key)
	signing, _ := key.(ed25519.PublicKey)
	return signing
}

// Pin returns the pin of the member's key.
func (m *Member) Pin() selfsigned.Pin { return selfsigned.PinOfKey(m.Key) }

// Routes returns where the servers of other machines find m's, HOST:PORT.
func (m *Member) Routes() string { return RoutesOf(m.Address) }

// RoutesOf is Member.Routes for an address that CheckMember accepts.
func RoutesOf(address string) string {
	host, port, _ := net.SplitHostPort(address)
	n, _ := strconv.Atoi(port)
	return net.JoinHostPort(host, strconv.Itoa(n+routesAbove))
}

// CheckMember returns the error in a member that another machine has named.
func CheckMember(m *Member) error {
	if _, err := mail.ParseMachine(string(m.Machine)); err != nil {
		return err
	}
	if _, err := x509.ParsePKIXPublicKey(m.Key); err != nil {
		return mail.Errorf(mail.Invalid, "cannot read the key of machine %s", m.Machine)
	}
	host, port, err := net.SplitHostPort(m.Address)
	n, bad := strconv.Atoi(port)
	if err != nil || bad != nil || !isHost(host) || n < 1 || n > 65535-routesAbove {
		return mail.Errorf(mail.Invalid, "%q is not a valid address of a cluster machine: write HOST, or "+
			"HOST:PORT with a port up to %d", m.Address, 65535-routesAbove)
	}
	return nil
}

// isHost reports whether a host is an address or a name, so that no other text gets into URLs and the servers'
// configuration.
func isHost(host string) bool {
	if net.ParseIP(host) != nil {
		return true
	}
	return host != "" && len(host) < 254 && !slices.ContainsFunc([]byte(host), func(c byte) bool {
		return c != '.' && c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	})
}

// Cluster is the file with this machine's view of its cluster.
func (h Home) Cluster() string { return h.file("cluster.json") }

// ClusterKey is the file with the key of this machine, which identifies it to the others of its cluster.
func (h Home) ClusterKey() string { return h.file("cluster.pem") }

// MachineKey is the file with the key with which this machine signs messages to rooms on NATS servers. In a cluster
// of ours, ClusterKey is used instead.
func (h Home) MachineKey() string { return h.file("machine.pem") }

// Admitted is the file with the machines that the person has admitted to the rooms on NATS servers.
func (h Home) Admitted() string { return h.file("admitted.json") }

// SigningKey returns the key with which this machine signs, and creates it if there is none.
func (j *Journal) SigningKey(h Home) (ed25519.PrivateKey, error) {
	path := h.MachineKey()
	if j.Servers > 0 {
		path = h.ClusterKey()
	}
	cert, err := selfsigned.KeepEd25519(path, nil, time.Now())
	if err != nil {
		return nil, fmt.Errorf("read the key of this machine: %w", err)
	}
	key, ok := cert.PrivateKey.(ed25519.PrivateKey)
	if !ok {
		return nil, mail.Errorf(mail.Invalid, "%s contains no Ed25519 key", path)
	}
	return key, nil
}

// ClusterCodes is the file with the codes that let machines into the cluster.
func (h Home) ClusterCodes() string { return h.file("cluster-codes.json") }

// Servers is the directory of the server's data.
func (h Home) Servers() string { return h.file("nats") }

// ServerLock is the file that the server's process holds locked.
func (h Home) ServerLock() string { return h.file("nats.lock") }

// ServerLog is the log file of the server's process.
func (h Home) ServerLog() string { return h.file("nats.log") }

// ServerSocket is the Unix socket of the server's process.
func (h Home) ServerSocket() string { return h.socket("nats.sock") }

// PutServersAway moves the server's data, if any, to the directory of removed data.
func (h Home) PutServersAway() error {
	if _, err := os.Stat(h.Servers()); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := durable.MkdirAll(h.Removed(), 0o700); err != nil {
		return err
	}
	return os.Rename(h.Servers(), filepath.Join(h.Removed(), "nats-"+time.Now().UTC().Format("20060102T150405")))
}

// LoadCluster returns this machine's view of its cluster, nil if it is in none.
func LoadCluster(h Home) (*Cluster, error) {
	text, err := durable.ReadFile(h.Cluster())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var c Cluster
	if err == nil {
		err = jsonx.Unmarshal(text, &c)
	}
	if err == nil && (c.ID == "" || c.Member(c.Machine) == nil && !c.Removed) {
		err = errors.New("id or members are missing")
	}
	for i := range c.Members {
		err = errors.Join(err, CheckMember(&c.Members[i]))
	}
	if err != nil {
		return nil, mail.Errorf(mail.Invalid, "%s does not describe this machine's cluster: %w", h.Cluster(), err)
	}
	return &c, nil
}

// Write saves c in the data directory.
func (c *Cluster) Write(h Home) error {
	text, err := jsonx.Marshal(c)
	if err != nil {
		return err
	}
	if old, err := durable.ReadFile(h.Cluster()); err == nil && bytes.Equal(old, append(text, '\n')) {
		return nil
	}
	return durable.WriteFile(h.Cluster(), append(text, '\n'), 0o600)
}

// Member returns a member by its name, nil if there is none.
func (c *Cluster) Member(name mail.Machine) *Member {
	i := slices.IndexFunc(c.Members, func(m Member) bool { return m.Machine == name })
	if i < 0 {
		return nil
	}
	return &c.Members[i]
}

// Knows reports whether a pin belongs to a member.
func (c *Cluster) Knows(pin selfsigned.Pin) bool {
	return slices.ContainsFunc(c.Members, func(m Member) bool { return m.Pin() == pin })
}

// KeepsRooms reports whether rooms are on the servers of c: a single server stores nothing, because it decides only
// together with others.
func (c *Cluster) KeepsRooms() bool { return c != nil && !c.Removed && len(c.Members) > 1 }

// Replicas returns on how many servers a room is in a cluster of some size: with two, neither server could be away.
func Replicas(servers int) int {
	if servers < DefaultReplicas {
		return 1
	}
	return DefaultReplicas
}

// ClusterTLS returns how a post office connects to the servers of its cluster: with the machine's key, and only to
// members.
func ClusterTLS(h Home) (*tls.Config, error) {
	cert, err := selfsigned.KeepEd25519(h.ClusterKey(), nil, time.Now())
	if err != nil {
		return nil, fmt.Errorf("read the key of this machine: %w", err)
	}
	return selfsigned.Peers(cert, func(pin selfsigned.Pin) bool {
		c, err := LoadCluster(h)
		return err == nil && c != nil && c.Knows(pin)
	}), nil
}

// Outdated reports whether a post office that was started with j must restart, because rooms must be kept elsewhere:
// in the cluster for the first time, or on more of its servers.
func (j *Journal) Outdated(c *Cluster) bool {
	if j.Servers == 0 {
		return c.KeepsRooms() && !j.Clustered() && j.Kind != KindFile
	}
	return c.KeepsRooms() && Replicas(len(c.Members)) != Replicas(j.Servers)
}

// join puts new rooms into the cluster of this machine, unless the configuration names servers itself.
func (c *Config) join(cluster *Cluster) {
	j := &c.Journal
	if !cluster.KeepsRooms() || len(j.URLs) > 0 || j.Kind == KindFile {
		return
	}
	j.Kind, j.Servers = KindJetStream, len(cluster.Members)
	for i := range cluster.Members {
		j.URLs = append(j.URLs, "tls://"+cluster.Members[i].Address)
	}
	if j.Replicas == 0 {
		j.Replicas = Replicas(len(cluster.Members))
	}
	if c.Machine.Name == "" {
		c.Machine.Name = cluster.Machine
	}
}
