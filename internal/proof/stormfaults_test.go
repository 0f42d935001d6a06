//go:build linux

package proof

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jetstream/natstest"
	"pennypost/internal/suspendtest"
)

// faults lists every kind of harm to several machines. Their order matters to a seed.
func (s *storm) faults() []fault {
	all := append(s.ofServers(), s.ofOffices()...)
	return append(all, fault{"keeper killed", nil, s.keeperKilled}, fault{"two at once", nil, s.two},
		fault{"server disk rolled back", nil, s.rolledBack}, fault{"stream deleted", nil, s.streamDeleted})
}

// ofServers lists the faults of the servers and of the links between them.
func (s *storm) ofServers() []fault {
	return []fault{
		{"server killed", nil, s.serverKilled},
		{"all servers killed", nil, s.serversKilled},
		{"server SIGSTOP", nil, s.serverSuspended},
		{"leader steps down", nil, s.stepDown},
		{"two servers cut apart", nil, s.cutApart},
		{"server cut one way", nil, s.cutOneWay},
		{"server alone", nil, s.alone},
		{"slow servers", nil, s.slowServers},
		{"disk of a server full", s.needsDisk, s.diskFull},
		{"clock of a server off", s.needsClocks, s.serverClockOff},
	}
}

// ofOffices lists the faults of a post office and of its links.
func (s *storm) ofOffices() []fault {
	return []fault{
		{"office killed", nil, s.officeKilled},
		{"office stopped", nil, s.officeStopped},
		{"office SIGSTOP", nil, s.officeSuspended},
		{"office cut off", nil, s.cutOff},
		{"office cut one way", nil, s.officeOneWay},
		{"office far away", nil, s.farAway},
		{"clock off by minutes", nil, s.clockOff},
	}
}

// two does one fault of the servers and one of a post office at the same time.
func (s *storm) two(r *rand.Rand) error {
	servers, offices := s.ofServers(), s.ofOffices()
	a, b := servers[r.IntN(len(servers))], offices[r.IntN(len(offices))]
	for a.missing != nil && a.missing() != "" {
		a = servers[r.IntN(len(servers))]
	}
	one, other := rand.New(rand.NewPCG(r.Uint64(), 1)), rand.New(rand.NewPCG(r.Uint64(), 2))
	s.log("  %s and %s", a.name, b.name)
	var both sync.WaitGroup
	var errA, errB error
	both.Go(func() { errA = a.do(one) })
	both.Go(func() { errB = b.do(other) })
	both.Wait()
	return errors.Join(errA, errB)
}

// while returns how long a fault lasts: mostly seconds, sometimes long enough for others to give up. A run of a
// minute has no time for the latter.
func while(r *rand.Rand) time.Duration {
	if long := r.IntN(4) == 0; long && *minutes > 2 {
		return between(r, 8*time.Second, 14*time.Second)
	}
	return between(r, 300*time.Millisecond, 4*time.Second)
}

func (s *storm) server(r *rand.Rand) (int, *natstest.Server) {
	i := r.IntN(machines)
	if r.IntN(2) == 0 { // the leader is the one that matters
		if leader, err := s.leader(streamOfMain); err == nil {
			for j, server := range s.servers.Servers {
				if server.Name == leader {
					i = j
				}
			}
		}
	}
	return i, s.servers.Servers[i]
}

func (s *storm) serverKilled(r *rand.Rand) error {
	_, server := s.server(r)
	server.Kill()
	time.Sleep(while(r))
	return server.Start()
}

// serversKilled kills all servers at the same time. Acknowledged events are on their disks.
func (s *storm) serversKilled(r *rand.Rand) error {
	defer s.absent()()
	s.servers.Stop()
	time.Sleep(while(r))
	var err error
	for _, i := range r.Perm(machines) {
		err = errors.Join(err, s.servers.Servers[i].Start())
		time.Sleep(between(r, 0, time.Second))
	}
	return err
}

func (s *storm) serverSuspended(r *rand.Rand) error {
	_, server := s.server(r)
	if err := server.Suspend(); err != nil {
		return err
	}
	time.Sleep(while(r))
	return server.Resume()
}

// stepDown makes the leaders of the rooms' streams, or that of the servers, step down, several times.
func (s *storm) stepDown(r *rand.Rand) error {
	for range 1 + r.IntN(4) {
		subject := "$JS.API.STREAM.LEADER.STEPDOWN." + streamOfMain
		if r.IntN(4) == 0 {
			subject = "$JS.API.META.LEADER.STEPDOWN"
		}
		_ = s.ask(subject, nil)
		time.Sleep(between(r, 200*time.Millisecond, 2*time.Second))
	}
	return nil
}

// streamOfMain is the stream of the room "main".
const streamOfMain = "pennypost_shard_1"

// ask sends a request to any server and decodes its answer into out, unless that is nil.
func (s *storm) ask(subject string, out any) error {
	nc, err := nats.Connect(strings.Join(s.servers.URLs(), ","), nats.Timeout(time.Second))
	if err != nil {
		return err
	}
	defer nc.Close()
	answer, err := nc.Request(subject, nil, 2*time.Second)
	if err != nil || out == nil {
		return err
	}
	return json.Unmarshal(answer.Data, out)
}

// leader returns the name of the server that leads a stream.
func (s *storm) leader(stream string) (string, error) {
	var info struct {
		Cluster struct {
			Leader string `json:"leader"`
		} `json:"cluster"`
	}
	err := s.ask("$JS.API.STREAM.INFO."+stream, &info)
	return info.Cluster.Leader, err
}

// cut sets the weather between two servers, whichever of them has dialled.
func (s *storm) cut(i, j int, w weather, broken bool) {
	other := w
	other.held[forth], other.held[back] = w.held[back], w.held[forth]
	s.between[i][j].set(w, broken)
	s.between[j][i].set(other, broken)
}

// cutWhole returns the weather of a cut link: no one is told, or everyone is.
func cutWhole(r *rand.Rand) weather {
	if r.IntN(2) == 0 {
		return weather{refused: true}
	}
	return weather{held: [2]bool{true, true}}
}

func (s *storm) cutApart(r *rand.Rand) error {
	i, _ := s.server(r)
	j := (i + 1 + r.IntN(machines-1)) % machines
	s.cut(i, j, cutWhole(r), false)
	time.Sleep(while(r))
	s.cut(i, j, weather{}, r.IntN(2) == 0)
	return nil
}

// cutOneWay blocks all traffic from a server to the others, or from them to it.
func (s *storm) cutOneWay(r *rand.Rand) error {
	i, _ := s.server(r)
	var w weather
	w.held[r.IntN(2)] = true
	s.isolate(i, w, false)
	time.Sleep(while(r))
	s.isolate(i, weather{}, r.IntN(2) == 0)
	return nil
}

// alone cuts a server off from the others. Post offices still reach it.
func (s *storm) alone(r *rand.Rand) error {
	i, _ := s.server(r)
	s.isolate(i, cutWhole(r), false)
	time.Sleep(while(r))
	s.isolate(i, weather{}, r.IntN(2) == 0)
	return nil
}

func (s *storm) isolate(i int, w weather, broken bool) {
	for j := range machines {
		if j != i {
			s.cut(i, j, w, broken)
		}
	}
}

func (s *storm) slowServers(r *rand.Rand) error {
	slow := weather{delay: between(r, 5*time.Millisecond, 150*time.Millisecond)}
	if r.IntN(2) == 0 {
		slow.rate = 50_000 + r.IntN(500_000)
	}
	i, _ := s.server(r)
	s.isolate(i, slow, false)
	time.Sleep(while(r))
	s.isolate(i, weather{}, false)
	return nil
}

func (s *storm) lastServer() *natstest.Server { return s.servers.Servers[machines-1] }

func (s *storm) needsDisk() string {
	var store, above syscall.Stat_t
	if syscall.Stat(s.lastServer().Dir, &store) == nil && syscall.Stat(s.dir, &above) == nil &&
		store.Dev != above.Dev {
		return ""
	}
	return "the store of a server is no file system of its own, for that wants root"
}

// diskFull fills the disk of one server. Such a server gives up its part of the journal, and must be restarted by
// whoever made room.
func (s *storm) diskFull(r *rand.Rand) error {
	server := s.lastServer()
	resize := func(size string) error {
		return syscall.Mount("tmpfs", server.Dir, "tmpfs", syscall.MS_REMOUNT, "size="+size)
	}
	var st syscall.Statfs_t
	if err := syscall.Statfs(server.Dir, &st); err != nil {
		return err
	}
	used := (st.Blocks - st.Bfree) * uint64(st.Bsize)
	if err := resize(strconv.FormatUint(used+uint64(r.IntN(256<<10))+1, 10)); err != nil {
		return fmt.Errorf("the test cannot make the disk full: %w", err)
	}
	time.Sleep(between(r, 2*time.Second, 6*time.Second))
	kill := r.IntN(2) == 0
	if kill {
		server.Kill()
	}
	if err := resize(homeSize); err != nil {
		return fmt.Errorf("the test cannot make room again: %w", err)
	}
	if !kill {
		server.Shut()
	}
	return server.Start()
}

func (s *storm) office(r *rand.Rand) (int, *office) {
	i := r.IntN(machines)
	return i, s.offices[i]
}

func (s *storm) officeKilled(r *rand.Rand) error {
	defer s.absent()()
	_, o := s.office(r)
	o.kill()
	time.Sleep(while(r))
	return o.start()
}

func (s *storm) officeStopped(r *rand.Rand) error {
	defer s.absent()()
	_, o := s.office(r)
	if err := o.stop(); err != nil {
		return errors.Join(fmt.Errorf("SIGTERM: %w", err), o.start())
	}
	time.Sleep(between(r, 0, 2*time.Second))
	return o.start()
}

func (s *storm) officeSuspended(r *rand.Rand) error {
	defer s.absent()()
	_, o := s.office(r)
	if err := suspendtest.Suspend(o.pid()); err != nil {
		return err
	}
	time.Sleep(while(r))
	return suspendtest.Resume(o.pid())
}

func (s *storm) around(i int, w weather, broken bool) {
	for _, l := range s.toward[i] {
		l.set(w, broken)
	}
}

// cutOff cuts a post office off from all servers, and holds that it says so soon and still shows its known mail.
func (s *storm) cutOff(r *rand.Rand) error {
	defer s.absent()()
	i, o := s.office(r)
	span := while(r)
	s.around(i, cutWhole(r), false)
	began := time.Now()
	if span > refuseWithin {
		s.found.without(o)
	}
	time.Sleep(span - time.Since(began))
	s.around(i, weather{}, r.IntN(2) == 0)
	return nil
}

// refuseWithin is how long a send may take without the servers. The promise is 2 s; the machine may be busy.
const refuseWithin = 5 * time.Second

// without holds that a post office without servers keeps or refuses mail in time, and shows its known mail.
func (f *findings) without(o *office) {
	d, began := o.socket(""), time.Now()
	defer d.client.CloseIdleConnections()
	in := map[string]any{"to": []string{"user"}, "body": "without servers " + began.String()}
	var sent mail.Sent
	err := d.do(context.Background(), http.MethodPost, "/rooms/main/messages", in, &sent)
	kept := err == nil && sent.Kept != nil
	if took := time.Since(began); !kept && codeOf(err) != mail.Unavailable || took > refuseWithin {
		f.add("P12", "a send at %s, which reaches no server, took %v and ended with %+v, %v", o.name,
			took.Round(time.Millisecond), sent, err)
	}
	if err := d.do(context.Background(), http.MethodGet, "/rooms/main/messages?limit=20", nil, nil); err != nil {
		f.add("P9", "%s, which reaches no server, does not show what it knows: %v", o.name, err)
	}
}

// officeOneWay blocks all traffic from a post office to the servers, or from them to it.
func (s *storm) officeOneWay(r *rand.Rand) error {
	defer s.absent()()
	i, _ := s.office(r)
	var w weather
	w.held[r.IntN(2)] = true
	s.around(i, w, false)
	time.Sleep(while(r))
	s.around(i, weather{}, r.IntN(2) == 0)
	return nil
}

func (s *storm) farAway(r *rand.Rand) error {
	i, _ := s.office(r)
	slow := weather{delay: between(r, 10*time.Millisecond, 200*time.Millisecond)}
	if r.IntN(2) == 0 {
		slow.rate = 50_000 + r.IntN(500_000)
	}
	s.around(i, slow, false)
	time.Sleep(while(r))
	s.around(i, weather{}, false)
	return nil
}

// clockOff sets the clock of one post office off by up to ten minutes, sometimes over a kill.
func (s *storm) clockOff(r *rand.Rand) error {
	steps := []time.Duration{-10 * time.Minute, -40 * time.Second, 5 * time.Second, 10 * time.Minute}
	_, o := s.office(r)
	err := o.stepClock(steps[r.IntN(len(steps))])
	time.Sleep(while(r))
	if r.IntN(2) == 0 {
		defer s.absent()()
		o.kill()
		err = errors.Join(err, o.start())
		time.Sleep(between(r, 500*time.Millisecond, 3*time.Second))
	}
	return errors.Join(err, o.stepClock(0))
}

// keeperWithin is how long a room may be without a keeper, and wakeWithin how long mail for an agent whose machine
// is gone may wait until another machine wakes it: that machine has to be sure that the first is away.
const (
	keeperWithin = 15 * time.Second
	wakeWithin   = 30 * time.Second
)

// keeper returns the machine that looks after the room, "" if none does, and the sequence number of the event that
// says so, from the copy of a post office (docs/journal.md).
func (s *storm) keeper(by *office) (name mail.Machine, place mail.Seq) {
	text, _ := os.ReadFile(filepath.Join(by.home, "rooms", "main", "mailbox.jsonl"))
	for line := range bytes.Lines(text) {
		var e mail.Event
		if !bytes.Contains(line, []byte(`"upkeep"`)) || json.Unmarshal(line, &e) != nil {
			continue
		}
		switch c, m := e.Checkpoint, e.Machine; {
		case c != nil && c.UpkeepAt > 0:
			name, place = c.Upkeep, c.UpkeepAt
		case m != nil && m.Upkeep && m.After == place:
			name, place = m.Name, e.Seq
		}
	}
	return name, place
}

// keeperKilled kills the post office that looks after the room, and holds that another takes over soon, and wakes an
// agent that also has a door there.
func (s *storm) keeperKilled(*rand.Rand) error {
	var name mail.Machine
	for end := time.Now().Add(keeperWithin); name == "" && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		name, _ = s.keeper(s.offices[0])
	}
	i := slices.IndexFunc(s.offices, func(o *office) bool { return o.name == string(name) })
	if i < 0 {
		return fmt.Errorf("P12: no machine looked after main within %v", keeperWithin)
	}
	defer s.absent()()
	gone, next := s.offices[i], s.offices[(i+1)%machines]
	_, place := s.keeper(gone)
	gone.kill()
	err := errors.Join(s.takenOver(gone, place, next), s.wokenElsewhere(next))
	return errors.Join(err, gone.start())
}

// takenOver waits until another post office looks after the room, as a living one sees it.
func (s *storm) takenOver(gone *office, at mail.Seq, by *office) error {
	for began := time.Now(); time.Since(began) < keeperWithin; time.Sleep(50 * time.Millisecond) {
		if name, place := s.keeper(by); place > at && name != "" && string(name) != gone.name {
			took := time.Since(began)
			s.log("  %s looks after main %v after %s was killed", name, took.Round(time.Millisecond), gone.name)
			s.takeovers = append(s.takeovers, took)
			return nil
		}
	}
	return fmt.Errorf("P12: nobody looked after main within %v of the death of %s", keeperWithin, gone.name)
}

// wokenElsewhere holds that an agent with a door on each machine is woken by a living one.
func (s *storm) wokenElsewhere(by *office) error {
	var sent mail.Sent
	in := mail.Draft{Type: string(mail.Question), To: mail.Recipients{string(sleeper)},
		Body: "awake? " + time.Now().String()}
	d := by.socket("")
	defer d.client.CloseIdleConnections()
	if err := d.do(context.Background(), http.MethodPost, "/rooms/main/messages", in, &sent); err != nil {
		return fmt.Errorf("P8: nobody can be asked at %s: %w", by.name, err)
	}
	asked := time.Now()
	for time.Since(asked) < wakeWithin {
		if rings := s.naps[0].rings(); len(rings) > 0 && rings[len(rings)-1].begin.After(asked) {
			s.log("  %s was woken by %s after %v", sleeper, rings[len(rings)-1].office,
				rings[len(rings)-1].begin.Sub(asked).Round(time.Millisecond))
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("P8: %s was not woken for %s within %v by the machines that were left", sleeper, sent.ID,
		wakeWithin)
}
