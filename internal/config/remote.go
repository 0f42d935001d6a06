package config

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"pennypost/internal/base/durable"
	"pennypost/internal/base/selfsigned"
	"pennypost/internal/mail"
)

// Remote is the post office of another machine that this one has joined: its programs use it instead of a local one.
type Remote struct {
	URL string `toml:"url"` // https://HOST:PORT
	// Pin and Public identify that post office.
	Pin     selfsigned.Pin  `toml:"pin"`
	Public  bool            `toml:"public"`
	Token   string          `toml:"token"`   // of this machine
	Machine mail.Machine    `toml:"machine"` // the name of this machine there
	Rooms   []mail.RoomName `toml:"rooms"`   // that it may enter; empty: all
	Agent   mail.Name       `toml:"agent"`   // the only agent as which it may speak; empty: any agent and the user
}

// Only returns the only room that the machine may enter, "" if it may enter several.
func (r *Remote) Only() mail.RoomName {
	if len(r.Rooms) == 1 {
		return r.Rooms[0]
	}
	return ""
}

// Remote is the file with the post office that this machine has joined.
func (h Home) Remote() string { return h.file("remote.toml") }

// HasRemote reports whether this machine has joined a post office.
func (h Home) HasRemote() bool {
	_, err := os.Lstat(h.Remote())
	return err == nil
}

// LoadRemote returns the post office that this machine has joined, nil if it has joined none.
func LoadRemote(h Home) (*Remote, error) {
	text, err := durable.ReadFile(h.Remote())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the joined post office: %w", err)
	}
	var r Remote
	err = toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(&r)
	if err == nil {
		_, err = CheckRemote(r.URL)
	}
	if err == nil && (r.Token == "" || r.Machine == "" || r.Pin == selfsigned.Pin{}) {
		err = errors.New("url, pin, token or machine is missing")
	}
	if err != nil {
		return nil, mail.Errorf(mail.Invalid, "%s does not describe the joined post office: %s. Join again: type "+
			"pennypost invite at the post office, and the line that it prints here", h.Remote(),
			strings.TrimPrefix(err.Error(), "toml: "))
	}
	return &r, nil
}

// Write saves r in the data directory.
func (r *Remote) Write(h Home) error {
	text, err := toml.Marshal(r)
	if err != nil {
		return err
	}
	return durable.WriteFile(h.Remote(), append([]byte("# Written by pennypost join; pennypost leave removes it.\n"),
		text...), 0o600)
}

// TLS returns the configuration for connecting.
func (r *Remote) TLS() (*tls.Config, error) {
	u, err := CheckRemote(r.URL)
	if err != nil {
		return nil, err
	}
	return selfsigned.Trust{Pin: r.Pin, Public: r.Public}.Config(u.Hostname()), nil
}

// CheckRemote checks the address of a post office that can be joined.
func CheckRemote(address string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSuffix(address, "/"))
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.Path != "" || u.RawQuery != "" || u.User != nil {
		return nil, mail.Errorf(mail.Invalid,
			"%q is not the address of a post office; write it like https://192.168.1.5:8766",
			address)
	}
	return u, nil
}
