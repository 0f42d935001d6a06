//go:build linux

package proof

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jetstream/natstest"
)

// machines is the number of servers, and of post offices.
const machines = 3

// latecomer sleeps, and only the last machine has a door for it.
const latecomer mail.Name = "latecomer"

// storm harms post offices on several machines, the servers that hold their journal, and the links between all of
// them. During the run only it starts and ends any of them.
type storm struct {
	*wrecker
	offices []*office
	probes  []*door // the user at each
	servers *natstest.Cluster
	between [machines][machines]*link // from the server that dials to the other
	toward  [machines][machines]*link // from a post office to a server
	dir     string                    // of the servers' data
	records string
	naps    []*nap
	// noClocks says why the clocks of the servers cannot be set, "" if they can.
	noClocks string

	takeovers []time.Duration

	mu   sync.Mutex
	away []span // when a post office may have seemed away to the others
}

// span is a while, by the clock of the machine.
type span struct{ from, to time.Time }

// newMachines starts servers and post offices and sets up everything as newWorld does.
func newMachines(seed uint64, records string, out io.Writer) (*world, error) {
	w, err := newServers(seed, records, out)
	if err == nil {
		err = w.open()
		w.storm.naps = w.naps
	}
	return w, err
}

// newServers starts servers, for post offices that are started later.
func newServers(seed uint64, records string, out io.Writer) (*world, error) {
	w := &world{seed: seed, out: out, tokens: make(map[mail.Name]string), began: time.Now()}
	for i := range machines {
		o, err := newOffice(fmt.Sprint("m", i+1), records)
		if o != nil {
			w.offices = append(w.offices, o)
		}
		if err != nil {
			return w, err
		}
	}
	if err := w.at(0).build(); err != nil {
		return w, err
	}
	s := &storm{offices: w.offices, records: records}
	w.storm = s
	if err := s.raise(); err != nil {
		return w, err
	}
	for i, o := range w.offices {
		o.binary, o.person = w.at(0).binary, w.at(0).person
		o.config = s.configOf(i, seed)
		d := o.socket("")
		d.within = 5 * time.Second
		s.probes = append(s.probes, d)
	}
	return w, nil
}

// raise starts the servers, with links between them. The last one's store is its own file system if possible, so
// that it can be full.
func (s *storm) raise() (err error) {
	if s.dir, err = os.MkdirTemp("/tmp", "pps"); err != nil {
		return err
	}
	last := filepath.Join(s.dir, fmt.Sprint("n", machines))
	if err := os.Mkdir(last, 0o700); err != nil {
		return err
	}
	_ = mountHome(last)
	route := func(i, j int, addr string) string {
		l, newErr := newLink(addr)
		if err = errors.Join(err, newErr); newErr != nil {
			return addr
		}
		s.between[i][j] = l
		return l.addr()
	}
	if _, err := natstest.Clocked(); err != nil {
		s.noClocks = "there is no program for the servers whose clock could be set: " + joined(err)
	}
	servers, startErr := natstest.New(s.dir, machines, natstest.Options{Route: route, Config: "ping_interval: 2s\n",
		Clocks: s.noClocks == ""})
	if err := errors.Join(err, startErr); err != nil {
		return err
	}
	s.servers = servers
	for i := range s.toward {
		for j, server := range servers.Servers {
			if s.toward[i][j], err = newLink(server.Client); err != nil {
				return err
			}
		}
	}
	return nil
}

// configOf is a machine's own part of the configuration.
func (s *storm) configOf(i int, seed uint64) string {
	var urls, monitor []string
	for j, l := range s.toward[i] {
		urls = append(urls, fmt.Sprintf("%q", "nats://"+l.addr()))
		monitor = append(monitor, fmt.Sprintf("%q", "http://"+s.servers.Servers[j].Monitor))
	}
	text := fmt.Sprintf("\n[machine]\nname = %q\nadmit = %q\n\n"+
		"[journal]\nkind = \"jetstream\"\nurls = [%s]\nmonitor = [%s]\n",
		s.offices[i].name, admits(seed), strings.Join(urls, ", "), strings.Join(monitor, ", "))
	if i == machines-1 {
		text += fmt.Sprintf("\n[room.wake.%s]\nexec = [%q]\nbudget = 1000\n", latecomer,
			filepath.Join(s.offices[i].root, "ring.sh"))
	}
	return text
}

// clear ends what is left, and removes the directories; with keep the servers' logs are saved among the records.
func (s *storm) clear(keep bool) {
	if s.servers != nil {
		s.servers.Stop()
	}
	for _, links := range [][machines][machines]*link{s.between, s.toward} {
		for _, row := range links {
			for _, l := range row {
				if l != nil {
					l.close()
				}
			}
		}
	}
	if keep && s.servers != nil {
		for _, server := range s.servers.Servers {
			_ = exec.Command("cp", server.Dir+".log", s.records).Run()
		}
	}
	_ = syscall.Unmount(filepath.Join(s.dir, fmt.Sprint("n", machines)), syscall.MNT_DETACH)
	os.RemoveAll(s.dir)
}

// recovered reports why mail is not accepted everywhere, or not shown everywhere; nil if it is.
func (s *storm) recovered() error {
	return accepted(s.offices, s.probes, "main", "harbour", "cellar", attic)
}

// accepted reports why one of some post offices does not accept mail in a room, or another does not show it; nil if
// all do.
func accepted(offices []*office, probes []*door, rooms ...string) error {
	for _, room := range rooms {
		for i, from := range probes {
			var sent mail.Sent
			in := map[string]any{"to": []string{"user"}, "body": "probe " + time.Now().String()}
			if err := from.do(context.Background(), http.MethodPost, "/rooms/"+room+"/messages", in,
				&sent); err != nil {
				return fmt.Errorf("%s at %s: %w", room, offices[i].name, err)
			}
			if sent.Kept != nil {
				return fmt.Errorf("%s at %s: it was kept there", room, offices[i].name)
			}
			for j, at := range probes {
				if err := shows(at, room, sent.ID); err != nil {
					return fmt.Errorf("%s, sent to %s at %s, at %s: %w", sent.ID, room, offices[i].name,
						offices[j].name, err)
				}
			}
		}
	}
	return nil
}

// seenWithin is how long after its acknowledgement a message may take to appear on another machine, if that is busy.
const seenWithin = 3 * time.Second

// shows waits until a message is shown.
func shows(d *door, room string, id mail.ID) (err error) {
	for end := time.Now().Add(seenWithin); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var it mail.Item
		if err = d.do(context.Background(), http.MethodGet, "/rooms/"+room+"/messages/"+string(id), nil,
			&it); err == nil {
			return nil
		}
	}
	return err
}

// anew kills everything and starts it again.
func (s *storm) anew() error {
	s.calm()
	for _, o := range s.offices {
		o.kill()
	}
	s.servers.Stop()
	var err error
	for _, server := range s.servers.Servers {
		err = errors.Join(err, server.Start())
	}
	for _, o := range s.offices {
		err = errors.Join(err, o.start())
	}
	return err
}

// calm ends the faults of all links.
func (s *storm) calm() {
	for _, l := range s.links() {
		l.set(weather{}, false)
	}
}

// links lists all links.
func (s *storm) links() (all []*link) {
	for _, links := range [][machines][machines]*link{s.between, s.toward} {
		for _, row := range links {
			all = append(all, row[:]...)
		}
	}
	return slices.DeleteFunc(all, func(l *link) bool { return l == nil })
}

// absent notes that a post office may seem away to others until the function that it returns is called.
func (s *storm) absent() (end func()) {
	from := time.Now()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.away = append(s.away, span{from, time.Now()})
	}
}

// aftermath is how long after a post office was away two may both consider it theirs to wake.
const aftermath = 20 * time.Second

// undisturbed reports whether at a time all post offices had long been present.
func (s *storm) undisturbed(at time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !slices.ContainsFunc(s.away, func(a span) bool {
		return at.After(a.from) && at.Before(a.to.Add(aftermath))
	})
}
