package jetstream

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
	"pennypost/internal/room/journal/jetstream/natstest"
	"pennypost/internal/room/journal/jsonl"
)

// asking is a room on a server with two connections, one through a tap.
type asking struct {
	t            *testing.T
	dir          string
	tap          *natstest.Tap
	c, straight  *Cluster
	journal      *Journal // over c
	file         *jsonl.Journal
	tries        int
	told         map[string]error // the results of the appends, by body
	close        []func()
	removedBy    *Machines
	mayBeRemoved bool
	ready        bool // faults may come now
}

const asked = "lab"

func newAsking(t *testing.T, server, dir, prefix string) (*asking, error) {
	w := &asking{t: t, dir: dir, tap: natstest.NewTap(t, server), told: make(map[string]error)}
	for to, c := range map[string]**Cluster{w.tap.URL(): &w.c, "nats://" + server: &w.straight} {
		made, err := Connect(t.Context(), Config{URLs: []string{to}, Replicas: 1, Prefix: prefix, Machine: "desk"})
		if err != nil {
			return nil, err
		}
		w.close = append(w.close, func() { made.Close() })
		for deadline := time.Now().Add(time.Minute); made.Trouble() != nil; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				return nil, made.Trouble()
			}
		}
		*c = made
	}
	return w, nil
}

func (w *asking) end() {
	if w.journal != nil {
		w.journal.Close()
	}
	if w.file != nil {
		w.file.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for name := range w.straight.js.StreamNames(ctx).Name() { // otherwise there would be too many
		if strings.Contains(name, w.straight.cfg.Prefix+"_") || strings.Contains(name,
			"KV_"+w.straight.cfg.Prefix+"-") {
			_ = w.straight.js.DeleteStream(ctx, name)
		}
	}
	for _, end := range w.close {
		end()
	}
}

// open opens the room over a cluster with its copy in the named directory.
func (w *asking) open(c *Cluster, name string) (j *Journal, err error) {
	for range 20 { // without a fault, only a busy machine can be the cause
		j, err = c.Open(w.t.Context(), asked, filepath.Join(w.dir, name), jsonl.Options{})
		if err == nil || c == w.c && w.ready {
			break
		}
	}
	return j, err
}

// fill stores n events in the room, with their copy in a directory.
func (w *asking) fill(name string, n int) error {
	j, err := w.open(w.straight, name)
	if err != nil {
		return err
	}
	_, err = j.Append(w.t.Context(), notes(n)...)
	return errors.Join(err, j.Close())
}

// inFile opens a copy as a file.
func (w *asking) inFile(name string) (err error) {
	w.file, err = jsonl.Open(filepath.Join(w.dir, name), jsonl.Options{})
	return err
}

// append appends an event with a unique body.
func (w *asking) append(j *Journal) error {
	body := fmt.Sprint("try ", w.tries)
	_, err := j.Append(w.t.Context(), said(body))
	w.told[body] = err
	return err
}

// bodies returns the bodies of the messages in the stream, in order.
func (w *asking) bodies() (out []string, err error) {
	j, err := w.open(w.straight, "looked at")
	if err != nil {
		return nil, err
	}
	defer j.Close()
	defer os.RemoveAll(filepath.Join(w.dir, "looked at"))
	for seq := mail.Seq(1); seq <= j.Last(); seq++ {
		events, err := j.Read(w.t.Context(), seq)
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			if e.Message != nil {
				out = append(out, e.Message.Body)
			}
		}
	}
	return out, nil
}

// has returns an error unless the room is open to all and has n notes, each once and in order.
func (w *asking) has(n int) error {
	rooms, err := w.straight.List(w.t.Context())
	if err != nil {
		return err
	}
	if l := rooms[asked]; !l.Here() || len(l.Dangers) > 0 {
		return fmt.Errorf("the room is listed as %+v", l)
	}
	got, err := w.bodies()
	if err != nil {
		return err
	}
	var want []string
	for _, e := range notes(n) {
		want = append(want, e.Message.Body)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		return fmt.Errorf("it has %q, want %q", got, want)
	}
	return nil
}

// askingOps are operations on the servers: their preparation, their requests, and what must hold after success.
var askingOps = map[string]struct {
	prepare func(*asking) error
	run     func(*asking) error
	holds   func(*asking) error
}{
	"make, append": {
		run: func(w *asking) error {
			j, err := w.open(w.c, "copy")
			if err != nil {
				return err
			}
			return errors.Join(w.append(j), j.Close())
		},
		holds: func(w *asking) error {
			got, err := w.bodies()
			for body, told := range w.told {
				switch n := strings.Count(fmt.Sprint("[", strings.Join(got, "]["), "]"), "["+body+"]"); {
				case told == nil && n != 1, errors.Is(told, journal.ErrUnknown) && n > 1:
					return fmt.Errorf("%s is there %d times, and it was told: %v", body, n, told)
				case told != nil && !errors.Is(told, journal.ErrUnknown) && n > 0:
					return fmt.Errorf("%s is there, and it was told: %v", body, told)
				}
			}
			return err
		},
	},
	"open": {
		prepare: func(w *asking) error { return w.fill("other", 5) },
		run: func(w *asking) error {
			j, err := w.open(w.c, fmt.Sprint("copy", w.tries))
			if err != nil {
				return err
			}
			if j.Last() != 5 {
				w.t.Errorf("opened at %d", j.Last())
			}
			return j.Close()
		},
		holds: func(w *asking) error { return w.has(5) },
	},
	"put back": {
		prepare: func(w *asking) error {
			err := w.fill("copy", 5)
			if err == nil {
				err = w.straight.Delete(w.t.Context(), asked)
			}
			if err == nil {
				err = w.fill("other", 3)
			}
			return err
		},
		run: func(w *asking) error {
			j, err := w.open(w.c, "copy")
			if err != nil {
				return err
			}
			defer j.Close()
			for range 20 {
				var l *lane
				if l, err = w.straight.lane(w.t.Context(), asked, false); err == nil && l.end == 5 {
					return nil
				}
				time.Sleep(100 * time.Millisecond)
			}
			return errors.Join(err, errors.New("it is not put back yet"))
		},
		holds: func(w *asking) error { return w.has(5) },
	},
	"erase": {
		prepare: func(w *asking) (err error) {
			if w.journal, err = w.open(w.c, "copy"); err == nil {
				_, err = w.journal.Append(w.t.Context(), append(notes(2), said("secret"))...)
			}
			return err
		},
		run: func(w *asking) error {
			_, err := w.journal.Erase(w.t.Context(), "msg_secret", func(e mail.Event) bool {
				return e.Message != nil && e.Message.ID == "msg_secret"
			})
			return err
		},
		holds: func(w *asking) error {
			here, err := os.ReadFile(filepath.Join(w.dir, "copy", "mailbox.jsonl"))
			if bytes.Contains(here, []byte("secret")) {
				return errors.New("it is in the copy")
			}
			return errors.Join(err, w.has(2))
		},
	},
	"verify": {
		prepare: func(w *asking) (err error) {
			if w.journal, err = w.open(w.c, "copy"); err == nil {
				_, err = w.journal.Append(w.t.Context(), notes(5)...)
			}
			return err
		},
		run: func(w *asking) error {
			v, err := w.journal.Verify(w.t.Context())
			for _, p := range v.Problems {
				if !strings.HasPrefix(p.Text, "not compared") {
					w.t.Errorf("verify names %v", p)
				}
				err = errors.Join(err, errors.New(p.Text))
			}
			return err
		},
		holds: func(w *asking) error { return w.has(5) },
	},
	"move here": {
		prepare: func(w *asking) error {
			err := w.inFile("file")
			if err == nil {
				_, err = w.file.Append(w.t.Context(), notes(5)...)
			}
			return err
		},
		run: func(w *asking) error {
			brought, err := w.c.Bring(w.t.Context(), asked, w.file)
			if err == nil {
				err = w.c.Arrive(w.t.Context(), asked, w.file, brought)
			}
			if err == nil {
				err = w.c.Settle(w.t.Context(), asked, w.file.Last())
			}
			if mail.CodeOf(err) == mail.Conflict && w.has(5) == nil { // it was settled, but the answer was lost
				return nil
			}
			return err
		},
		holds: func(w *asking) error { return w.has(5) },
	},
	"move away": {
		prepare: func(w *asking) error { return w.fill("copy", 5) },
		run: func(w *asking) error {
			if err := w.c.CloseOff(w.t.Context(), asked); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
				return err
			}
			return w.c.Leave(w.t.Context(), asked)
		},
		holds: func(w *asking) error {
			g, gone, err := w.straight.Gone(w.t.Context(), asked)
			if err != nil || !gone || g.To != "desk" {
				return fmt.Errorf("Gone = %v, %v, %v", g, gone, err)
			}
			if _, err := w.straight.lane(w.t.Context(), asked, false); !errors.Is(err, jetstream.ErrStreamNotFound) {
				return fmt.Errorf("where it was: %w", err)
			}
			return nil
		},
	},
	"restore": {
		prepare: func(w *asking) error {
			return errors.Join(w.fill("copy", 5), w.straight.Delete(w.t.Context(), asked), w.inFile("copy"))
		},
		run: func(w *asking) error {
			return w.c.Restore(w.t.Context(), asked, w.file, func(mail.Machine) bool { return false })
		},
		holds: func(w *asking) error { return w.has(5) },
	},
	"restore from what is behind": {
		prepare: func(w *asking) error {
			err := w.inFile("file")
			if err == nil {
				_, err = w.file.Append(w.t.Context(), notes(4)...)
			}
			return errors.Join(err, w.fill("other", 5))
		},
		run: func(w *asking) error {
			err := w.c.Restore(w.t.Context(), asked, w.file, func(mail.Machine) bool { return false })
			switch {
			case err == nil:
				return errors.New("it was restored from less")
			case strings.Contains(err.Error(), "Nothing was changed"):
				return w.has(5)
			}
			return err
		},
		holds: func(w *asking) error { return w.has(5) },
	},
	"be a machine": {
		run: func(w *asking) error {
			m, err := w.c.Machines(w.t.Context(), MachineOptions{Name: "desk", ID: "1"})
			if err != nil {
				return err
			}
			if err := m.read(w.t.Context()); err != nil {
				return err
			}
			if !m.isClaimed() {
				return errors.New("the name is not claimed yet")
			}
			return nil
		},
		holds: func(w *asking) error { return w.listed("desk", true) },
	},
	"remove a machine": {
		prepare: func(w *asking) error {
			_, err := w.straight.Machines(w.t.Context(), MachineOptions{Name: "old", ID: "2"})
			if err == nil {
				w.removedBy, err = w.c.Machines(w.t.Context(), MachineOptions{Name: "desk", ID: "1"})
				w.removedBy.since = time.Now().Add(-time.Hour)
			}
			return err
		},
		run: func(w *asking) error {
			err := w.removedBy.Remove(w.t.Context(), "old")
			switch {
			case mail.CodeOf(err) == mail.NotFound && w.mayBeRemoved:
				return nil
			case err != nil && strings.Contains(err.Error(), "Nothing was removed"):
				return errors.Join(err, w.listed("old", true))
			}
			w.mayBeRemoved = true
			return err
		},
		holds: func(w *asking) error { return w.listed("old", false) },
	},
}

func (w *asking) listed(name mail.Machine, want bool) error {
	var m *Machines
	err := errors.New("not asked")
	for i := 0; err != nil && i < 5; i++ { // a busy machine may need several tries
		if m, err = w.straight.Machines(w.t.Context(), MachineOptions{Name: "looks", ID: "3"}); err == nil {
			err = m.read(w.t.Context())
		}
	}
	if err != nil {
		return err
	}
	if _, is := machineIn(m, name); is != want {
		return fmt.Errorf("%s is listed: %v", name, is)
	}
	return nil
}

// unavailableNow is the servers' answer that they cannot do anything at present.
const unavailableNow = `{"type":"x","error":{"code":503,"err_code":10008,"description":"JetStream is away"}}`

var askingFaults = []natstest.Fault{{}, {Stored: true}, {Cut: true}, {Cut: true, Stored: true}, {NoResponders: true},
	{Answer: unavailableNow}, {Answer: unavailableNow, Stored: true}, {Answer: "]["}, {Answer: "][", Stored: true},
}

// everyFault is for ./test proof, which tries all faults.
var everyFault = flag.Int("every-fault", 3, "one in how many faults TestEachRequestMeetsEachFault has")

// TestEachRequestMeetsEachFault exposes each request of the machines to each fault, before the server has received it
// and after. Operations reported as done are done, those reported as not done are not, and a retry completes them.
func TestEachRequestMeetsEachFault(t *testing.T) {
	servers := natstest.Start(t, 1, natstest.Options{Sync: "1m"})
	server := servers.Servers[0].Client
	base := t.TempDir()
	type oneCase struct {
		op    string
		at    int
		fault natstest.Fault
	}
	var cases []oneCase
	for _, op := range slices.Sorted(maps.Keys(askingOps)) {
		requests := ask(t, server, filepath.Join(base, "clean "+op), "clean", op, 0, natstest.Fault{})
		t.Logf("%s: %d requests: %s", op, len(requests), strings.Join(requests, " "))
		for at := range requests {
			for i, f := range askingFaults {
				if (at+i)%*everyFault == 0 {
					cases = append(cases, oneCase{op, at + 1, f})
				}
			}
		}
	}
	t.Log(len(cases), "cases")
	next := make(chan int)
	go func() {
		defer close(next)
		for i := range cases {
			next <- i
		}
	}()
	var working sync.WaitGroup
	for range 64 {
		working.Go(func() {
			for i := range next {
				c := cases[i]
				ask(t, server, filepath.Join(base, fmt.Sprint(i)), fmt.Sprint("p", i), c.op, c.at, c.fault)
			}
		})
	}
	working.Wait()
}

// ask runs one operation in which one request meets a fault, and retries until it is done. It returns the requests of
// the first attempt.
func ask(t *testing.T, server, dir, prefix, name string, at int, fault natstest.Fault) (requests []string) {
	op := askingOps[name]
	says := func(what string, err error) {
		t.Errorf("%s, request %d %v: %s: %v", name, at, fault, what, err)
	}
	var w *asking
	err := errors.New("not prepared")
	for i := 0; err != nil && i < 5; i++ { // a busy machine may need several tries
		if w, err = newAsking(t, server, filepath.Join(dir, fmt.Sprint(i)), fmt.Sprint(prefix, "-", i)); err != nil {
			break
		}
		defer w.end()
		if op.prepare != nil {
			err = op.prepare(w)
		}
	}
	if err != nil {
		says("prepare", err)
		return nil
	}
	w.ready = true
	w.tap.Count(at, fault)
	began := time.Now()
	err = op.run(w)
	requests = w.tap.Count(0, fault)
	if took := time.Since(began); took > 30*time.Second {
		says("it took", fmt.Errorf("%v: %w", took, err))
	}
	for deadline := time.Now().Add(time.Minute); err != nil; err = op.run(w) {
		if strings.Contains(err.Error(), "nil>") {
			says("text", err)
		}
		if at == 0 || time.Now().After(deadline) {
			says("it is not done", err)
			return requests
		}
		w.tries++
		time.Sleep(20 * time.Millisecond)
	}
	if err := op.holds(w); err != nil {
		says("is not so", err)
	}
	return requests
}

// TestGoneAsksTheLeader: a server that was suspended and goes on gave an old answer to a direct request, in 7 of 20
// cases, and the machine beside it would have made a removed room again.
func TestGoneAsksTheLeader(t *testing.T) {
	t.Parallel()
	w, err := newAsking(t, natstest.Start(t, 1, natstest.Options{}).Servers[0].Client, t.TempDir(), "leader")
	if err != nil {
		t.Fatal(err)
	}
	defer w.end()
	is := func(want bool) {
		t.Helper()
		w.tap.Count(0, natstest.Fault{})
		if _, gone, err := w.c.Gone(t.Context(), asked); err != nil || gone != want {
			t.Errorf("Gone = %v, %v; want %v", gone, err, want)
		}
		if all := w.tap.Count(0, natstest.Fault{}); strings.Contains(fmt.Sprint(all), "DIRECT") {
			t.Errorf("any server may answer: %s", all)
		}
	}
	is(false) // there is no table yet
	if err := w.c.Forget(t.Context(), asked, Gone{By: "desk"}); err != nil {
		t.Fatal(err)
	}
	is(true)
	if err := w.c.Revive(t.Context(), asked); err != nil {
		t.Fatal(err)
	}
	is(false)
}
