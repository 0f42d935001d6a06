package rooms

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jsonl"
	"pennypost/internal/wire"
)

// Health describes the state of the NATS servers, and every fault of them and of the rooms.
func (c *Cluster) Health() mail.ServersHealth {
	if c == nil {
		return mail.ServersHealth{Servers: []mail.ServerStatus{}}
	}
	h := c.Cluster.Health()
	for _, name := range c.broken() {
		c.mu.Lock()
		why := c.damaged[name]
		c.mu.Unlock()
		h.Degraded = append(h.Degraded, mail.Degraded{About: "damaged " + string(name),
			Text: fmt.Sprintf("the stream of room %s is damaged: %s", name, why),
			Fix:  "pennypost rooms restore " + string(name)})
	}
	for _, m := range c.machines.List() {
		if skew := time.Duration(m.Skew) * time.Millisecond; skew.Abs() > mail.WrongClock && !m.Away {
			h.Degraded = append(h.Degraded, wrongClock(m.Name, skew))
		}
	}
	h.Erasing = c.machines.Erasing()
	return h
}

func wrongClock(machine mail.Machine, skew time.Duration) mail.Degraded {
	way := "ahead of"
	if skew < 0 {
		way = "behind"
	}
	return mail.Degraded{About: "clock " + string(machine),
		Text: fmt.Sprintf("the clock of machine %s is %v %s that of the NATS servers", machine,
			skew.Abs().Round(100*time.Millisecond), way),
		Fix: "set the clock of " + string(machine) + ", preferably by NTP"}
}

// mostSaid is how many faults are named in one line.
const mostSaid = 2

// Degraded describes in a line the faults of the servers, and the rooms whose erased text they may still have; "" if
// there are none.
func (c *Cluster) Degraded() string {
	h := c.Health()
	var all []string
	for _, d := range h.Degraded {
		all = append(all, capital(d.Text)+".")
	}
	if n := len(all) - mostSaid; n > 0 {
		all = append(all[:mostSaid], fmt.Sprintf("And %d more: pennypost machines.", n))
	}
	if h.Erasing != nil {
		all = append(all, h.Erasing.String())
	}
	return strings.Join(all, " ")
}

// capital begins a sentence.
func capital(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// tend examines each change of the servers, shows it, and tells the person, until ctx ends.
func (c *Cluster) tend(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	t := teller{cluster: c, since: make(map[string]time.Time), left: make(map[string]bool)}
	for {
		t.tell(time.Now())
		c.ForgetErased(time.Now())
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-c.Changed():
			go c.readSettings(ctx)
			c.changed.Give()
			c.set.Bell.ring("")
		}
	}
}

// How long a fault must last before the person is told: most end by themselves.
const (
	unreachableFor = 10 * time.Second
	electionFor    = 20 * time.Second
	damagedFor     = 10 * time.Second
	behindFor      = time.Minute
	mendedFor      = 20 * time.Second // faults that come and go within that are one event
)

// patienceWith returns how long to wait before announcing a fault.
func patienceWith(about string) time.Duration {
	switch kind, _, _ := strings.Cut(about, " "); kind {
	case "unreachable":
		return unreachableFor
	case "election", "leaderless":
		return electionFor
	case "behind", "clock":
		return behindFor
	case "damaged":
		return damagedFor
	}
	return 0
}

// teller announces each fault to the person once, and the end of the last one. Of the machines that notice a fault,
// one announces it.
type teller struct {
	cluster *Cluster
	since   map[string]time.Time // when each fault was noticed
	left    map[string]bool      // those of them that another machine announces
	well    time.Time            // since when there is none
}

func (t *teller) tell(now time.Time) {
	notify, standing := t.cluster.set.Notify, t.standing()
	here := make(map[string]bool)
	for _, d := range standing {
		here[d.About] = true
		if t.since[d.About].IsZero() {
			t.since[d.About] = now
		}
		if since := t.since[d.About]; !t.left[d.About] && now.Sub(since) >= patienceWith(d.About) {
			mine, decided := t.cluster.machines.Tells(since)
			if t.left[d.About] = decided && !mine; decided && mine {
				text := capital(d.Text)
				subject, _, _ := strings.Cut(text, ";")
				notify.Announce(d.About, subject, text+".\nWhat to do: "+d.Fix)
			}
		}
	}
	for about := range t.since {
		if !here[about] {
			delete(t.since, about)
			delete(t.left, about)
		}
	}
	if len(standing) > 0 {
		t.well = time.Time{}
		return
	}
	if t.well.IsZero() {
		t.well = now
	}
	if over := notify.Announced(); len(over) > 0 && now.Sub(t.well) >= mendedFor {
		notify.Over(over, "The NATS servers have recovered", "All of them respond, and rooms accept mail.")
	}
}

// standing returns the current faults.
func (t *teller) standing() []mail.Degraded {
	if err := t.cluster.Trouble(); err != nil && !t.cluster.connected() {
		return []mail.Degraded{{About: "unreachable", Text: fmt.Sprintf(
			"%s cannot reach the NATS servers; its rooms there accept no mail", t.cluster.name), Fix: err.Error()}}
	}
	return t.cluster.Health().Degraded
}

func (c *Cluster) connected() bool { return c.Conn().IsConnected() }

// Try writes a test message to each kind of journal that this post office uses, and reads it back. It touches no
// room.
func (o *Set) Try(ctx context.Context) (wire.Trials, error) {
	all := wire.Trials{Trials: []wire.Trial{tried(config.KindFile, o.tryFile)}}
	if o.Cluster != nil {
		ctx, cancel := context.WithTimeout(ctx, callsPatience)
		defer cancel()
		all.Trials = append(all.Trials, tried(config.KindJetStream, func(t *wire.Trial) error {
			found, err := o.Cluster.Try(ctx)
			t.Wrote, t.Read, t.Through = found.Wrote.Microseconds(), found.Read.Microseconds(), found.Through
			return err
		}))
	}
	return all, nil
}

func tried(kind string, try func(*wire.Trial) error) wire.Trial {
	t := wire.Trial{Kind: kind}
	if err := try(&t); err != nil {
		t.Failed = err.Error()
	}
	return t
}

// tryFile writes a journal of one event into the data directory, and reads it back.
func (o *Set) tryFile(t *wire.Trial) (err error) {
	dir, err := os.MkdirTemp(string(o.Config.Home), "try-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	dir = filepath.Join(dir, "room")
	began := time.Now()
	j, err := jsonl.Open(dir, jsonl.Options{})
	if err != nil {
		return err
	}
	const subject = "A test message."
	seq, err := j.Append(context.Background(), mail.Event{Message: &mail.Message{ID: "msg_test", Subject: subject}})
	t.Wrote = time.Since(began).Microseconds()
	if err = cmp.Or(err, j.Close()); err != nil {
		return fmt.Errorf("write a test message: %w", err)
	}
	began = time.Now()
	if j, err = jsonl.Open(dir, jsonl.Options{}); err != nil {
		return fmt.Errorf("read a test message: %w", err)
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	found, err := j.Read(context.Background(), seq)
	t.Read = time.Since(began).Microseconds()
	if err == nil && !slices.ContainsFunc(found, func(e mail.Event) bool {
		return e.Message != nil && e.Message.Subject == subject
	}) {
		err = errors.New("the test message read back differs")
	}
	return err
}
