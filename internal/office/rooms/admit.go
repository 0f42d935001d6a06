package rooms

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"pennypost/internal/base/kept"
	"pennypost/internal/config"
	"pennypost/internal/mail"
)

// admissions are the machines that the person has admitted here, or to the cluster of "pennypost cluster". Each room
// of this machine admits them as soon as it is open.
type admissions struct {
	home   config.Home
	anyone bool // any machine with the servers' password is admitted

	mu   sync.Mutex
	list map[mail.Machine]admission
	// known caches all of them, as of read.
	known map[mail.Machine]mail.MachineKey
	read  time.Time
}

// readClusterEvery is how often the list of the cluster's machines is read, for all rooms.
const readClusterEvery = 2 * time.Second

type admission struct {
	Key string    `json:"key"` // in the form of mail.KeyText
	At  mail.Time `json:"at"`
}

func (a *admissions) open(cfg *config.Config) error {
	a.home, a.anyone = cfg.Home, cfg.Machine.Admit == config.AdmitAnyone
	a.list = make(map[mail.Machine]admission)
	if err := kept.Load(a.home.Admitted(), &a.list); err != nil {
		return fmt.Errorf("read the admitted machines: %w", err)
	}
	return nil
}

// all returns the admitted machines. One without a key was removed. The caller must not change the map.
func (a *admissions) all() map[mail.Machine]mail.MachineKey {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known == nil || time.Since(a.read) > readClusterEvery {
		a.known, a.read = a.readLocked(), time.Now()
	}
	return a.known
}

func (a *admissions) readLocked() map[mail.Machine]mail.MachineKey {
	all := make(map[mail.Machine]mail.MachineKey)
	if c, err := config.LoadCluster(a.home); err == nil && c != nil {
		for i := range c.Members {
			m := &c.Members[i]
			all[m.Machine] = mail.MachineKey{Key: m.Signing(), At: m.Joined}
		}
		for _, name := range c.Gone {
			all[name] = mail.MachineKey{}
		}
	}
	for name, x := range a.list {
		if key, err := mail.ParseKey(x.Key); err == nil {
			all[name] = mail.MachineKey{Key: key, At: x.At}
		}
	}
	return all
}

// knows reports whether a key belongs to an admitted machine.
func (a *admissions) knows(key []byte) bool {
	for _, x := range a.all() {
		if len(key) > 0 && bytes.Equal(x.Key, key) {
			return true
		}
	}
	return false
}

// change changes the list and writes it to disk.
func (a *admissions) change(f func(list map[mail.Machine]admission)) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	f(a.list)
	a.known = nil
	return kept.Save(a.home.Admitted(), a.list)
}

func (a *admissions) remove(name mail.Machine) error {
	return a.change(func(list map[mail.Machine]admission) { delete(list, name) })
}

// AdmitMachine implements httpapi.Machines.
func (c *Cluster) AdmitMachine(_ context.Context, name mail.Machine, key string) error {
	if _, err := mail.ParseMachine(string(name)); err != nil {
		return err
	}
	if _, err := mail.ParseKey(key); err != nil {
		return err
	}
	if name == c.name {
		return mail.Errorf(mail.Invalid, "%s is this machine; admit it on another machine", name)
	}
	return c.admissions.change(func(list map[mail.Machine]admission) {
		list[name] = admission{Key: key, At: mail.TimeOf(time.Now())}
	})
}
