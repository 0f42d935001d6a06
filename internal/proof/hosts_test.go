//go:build linux

package proof

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jetstream/natstest"
)

// hosts are machines with networks of their own: each has a NATS server and a post office.
type hosts struct {
	*world
	network *network
	servers []*hostServer
	probes  []*door
	dir     string // of the servers' data
}

// hostServer is a NATS server on a host.
type hostServer struct {
	command []string
	log     string
	cmd     *exec.Cmd
}

func (s *hostServer) start() error {
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	s.cmd = exec.Command(s.command[0], s.command[1:]...)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // it ends with the test
	return s.cmd.Start()
}

func (s *hostServer) kill() {
	if s.cmd != nil && s.cmd.Process != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	}
	s.cmd = nil
}

// hostConf is the configuration of a server from docs/machines.md for a trusted network.
const hostConf = `server_name: "n%[1]d"
listen: "%[2]s:4222"
http: "%[2]s:8222"
jetstream { store_dir: %[3]q, sync_interval: always }
cluster {
  name: "pennypost"
  listen: "%[2]s:6222"
  ping_interval: "2s"
  routes: [%[4]s]
}
`

// everyHost lists something of each host.
func everyHost(format string) string {
	var all []string
	for i := range machines {
		all = append(all, fmt.Sprintf(format, address(i)))
	}
	return strings.Join(all, ", ")
}

// newHosts starts the servers and the post offices. clear must be called in any case, even after an error.
func newHosts(seed uint64, records string, out io.Writer) (h *hosts, err error) {
	h = &hosts{world: &world{seed: seed, out: out, records: records, began: time.Now()}}
	h.eraser = &eraser{book: &book{client: "user"}} // it erases nothing here
	h.network, err = newNetwork(fmt.Sprintf("pp%d-", os.Getpid()), machines)
	if err != nil {
		return h, &lacking{err}
	}
	program, err := natstest.Program()
	if err != nil {
		return h, err
	}
	if h.dir, err = os.MkdirTemp("/tmp", "pps"); err != nil {
		return h, err
	}
	for i := range machines {
		conf := filepath.Join(h.dir, fmt.Sprint("n", i+1))
		text := fmt.Appendf(nil, hostConf, i+1, address(i), conf, everyHost("\"nats://%s:6222\""))
		if err := os.WriteFile(conf+".conf", text, 0o600); err != nil {
			return h, err
		}
		s := &hostServer{command: h.network.command(i, program, "-c", conf+".conf"),
			log: filepath.Join(records, fmt.Sprint("n", i+1, ".log"))}
		h.servers = append(h.servers, s)
		if err := s.start(); err != nil {
			return h, err
		}
	}
	for i := range machines {
		if err := h.newOffice(i); err != nil {
			return h, err
		}
	}
	h.admin = h.offices[0].socket("")
	h.admin.within = 5 * time.Minute
	h.began = time.Now()
	if _, err := recovers(h); err != nil {
		return h, err
	}
	h.employ()
	return h, nil
}

// lacking is the reason why this machine cannot have hosts in namespaces.
type lacking struct{ error }

func (h *hosts) newOffice(i int) error {
	o, err := newOffice(fmt.Sprint("m", i+1), h.records)
	if o != nil {
		h.offices = append(h.offices, o)
	}
	if err != nil {
		return err
	}
	if o.within = h.network.command(i); i == 0 {
		err = o.build()
	}
	o.binary = h.at(0).binary
	text := fmt.Sprintf(configuration+"\n[machine]\nname = %q\nadmit = \"anyone\"\n\n"+
		"[journal]\nkind = \"jetstream\"\nurls = [%s]\n"+
		"monitor = [%s]\n", "true", o.name, everyHost("\"nats://%s:4222\""), everyHost("\"http://%s:8222\""))
	if err := errors.Join(err, os.WriteFile(filepath.Join(o.home, "config.toml"), []byte(text), 0o600)); err != nil {
		return err
	}
	d := o.socket("")
	d.within = 5 * time.Second
	h.probes = append(h.probes, d)
	return o.start()
}

// employ makes three senders at each host.
func (h *hosts) employ() {
	for i, o := range h.offices {
		for n := range 3 {
			name := fmt.Sprintf("sender-%d-%d", i+1, n+1)
			s := &sender{book: h.newBook(name, o), seed: h.seed, room: "main", recipients: []string{"user", "all"},
				keyed: n == 0, pace: 40 * time.Millisecond}
			h.sender(s.over(o.socket(mail.Name(name))))
		}
	}
}

// faults implements victim.
func (h *hosts) faults() []fault {
	return []fault{
		{"link cut", nil, h.linkCut},
		{"link cut one way", nil, h.linkOneWay},
		{"host cut off", nil, h.cutOff},
		{"200 ms there, 200 ms back", nil, h.far},
		{"5 % of packets lost", nil, func(r *rand.Rand) error { return h.everywhere(r, path{loss: 0.05}) }},
		{"packets reordered", nil, func(r *rand.Rand) error {
			return h.everywhere(r, path{delay: 5 * time.Millisecond, reordered: 0.2})
		}},
		{"host killed", nil, h.hostKilled},
	}
}

func (h *hosts) linkCut(r *rand.Rand) error {
	i := r.IntN(machines)
	j := (i + 1 + r.IntN(machines-1)) % machines
	h.network.set(i, j, path{cut: true})
	h.network.set(j, i, path{cut: true})
	return h.over(r)
}

func (h *hosts) linkOneWay(r *rand.Rand) error {
	i := r.IntN(machines)
	h.network.set(i, (i+1+r.IntN(machines-1))%machines, path{cut: true})
	return h.over(r)
}

// cutOff cuts a host off from the others, and holds that its post office says so soon and still shows its known
// mail.
func (h *hosts) cutOff(r *rand.Rand) error {
	i, span := r.IntN(machines), lasting(r)
	h.network.around(i, path{cut: true})
	began := time.Now()
	if span > refuseWithin {
		h.found.without(h.offices[i])
	}
	time.Sleep(span - time.Since(began))
	h.network.everywhere(path{})
	return nil
}

func (h *hosts) far(r *rand.Rand) error {
	h.network.around(r.IntN(machines), path{delay: 200 * time.Millisecond})
	return h.over(r)
}

func (h *hosts) everywhere(r *rand.Rand, p path) error {
	h.network.everywhere(p)
	return h.over(r)
}

// lasting returns how long a fault lasts: one time in three long enough for the others to consider the host gone.
func lasting(r *rand.Rand) time.Duration {
	if r.IntN(3) == 0 {
		return between(r, 8*time.Second, 12*time.Second)
	}
	return between(r, 500*time.Millisecond, 4*time.Second)
}

// over makes a fault of the network last for a while.
func (h *hosts) over(r *rand.Rand) error {
	time.Sleep(lasting(r))
	h.network.everywhere(path{})
	return nil
}

// hostKilled kills the server and the post office of a host. In half of the cases its network is cut first, as in a
// power failure: then no one is told.
func (h *hosts) hostKilled(r *rand.Rand) error {
	i := r.IntN(machines)
	if r.IntN(2) == 0 {
		h.network.around(i, path{cut: true})
	}
	h.servers[i].kill()
	h.offices[i].kill()
	time.Sleep(lasting(r))
	h.network.everywhere(path{})
	return errors.Join(h.servers[i].start(), h.offices[i].start())
}

// recovered implements victim.
func (h *hosts) recovered() error { return accepted(h.offices, h.probes, "main") }

// anew implements victim.
func (h *hosts) anew() error {
	h.network.everywhere(path{})
	for i, o := range h.offices {
		h.servers[i].kill()
		o.kill()
	}
	var err error
	for i, o := range h.offices {
		err = errors.Join(err, h.servers[i].start(), o.start())
	}
	return err
}

// clear ends what is left, and keeps the homes if there were findings.
func (h *hosts) clear(keep bool) {
	h.world.clear(keep)
	for _, s := range h.servers {
		s.kill()
	}
	if h.network != nil {
		h.network.close()
	}
	os.RemoveAll(h.dir)
}

// check holds that all post offices have the same messages in the same order, with each acknowledged message once.
func (h *hosts) check() {
	h.drained()
	items, err := h.export(h.admin, "main")
	if err != nil {
		h.found.add("P2", "main cannot be exported: %v", err)
		return
	}
	rooms := map[mail.RoomName][]mail.Item{"main": items}
	h.checkEqual(rooms)
	h.checkStrangers(rooms)
	for _, s := range h.senders {
		h.checkSender(s, items)
	}
	for _, o := range h.offices {
		h.checkVerify(o, "main")
	}
}

// TestHosts has three hosts, each with its own network, NATS server and post office, and harms the network between
// them and the hosts.
func TestHosts(t *testing.T) {
	if *minutes <= 0 {
		t.Skip("run it by: ./test proof --machines")
	}
	seed, records, out := setUp(t, "hosts", "proof --machines")
	h, err := newHosts(seed, records, out)
	defer func() { h.clear(t.Failed()) }()
	if lacks := (*lacking)(nil); errors.As(err, &lacks) {
		t.Skip("this machine has no hosts in namespaces: ", lacks)
	}
	if err != nil {
		t.Fatal(err)
	}
	h.wrecker = &wrecker{seed: seed, began: h.began, found: &h.found, only: regexp.MustCompile(*wanted),
		failed: h.failures, log: h.logf}
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(*minutes*float64(time.Minute)))
	defer cancel()
	stop := h.start(h.workers)
	h.wrecker.run(ctx, h)
	stop()
	if err := h.anew(); err != nil {
		h.found.add("P1", "after the last kill: %v", err)
	}
	if _, err := recovers(h); err != nil {
		h.found.add("P1", "after the last kill: %v", err)
	}
	h.check()
	for _, b := range h.books {
		if err := b.save(records); err != nil {
			t.Error(err)
		}
	}
	h.report(t)
}
