package rooms

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/pause"
	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jetstream"
	"pennypost/internal/room/journal/jsonl"
	"pennypost/internal/wire"
)

// Subjects of requests between machines about a room on the NATS servers whose stream is damaged.
const (
	SurveySubject  = "survey"  // asks what its copy of the room holds
	RestoreSubject = "restore" // tells it to make the stream again
)

// CopySubject is the subject of requests that ask whether a machine has a copy of a room on the NATS servers.
const CopySubject = "copy"

// copyPatience bounds the wait for answers. A machine that does not answer counts as having no copy.
const copyPatience = time.Second

const (
	// slowPatience is how long a request waits for work that continues without it. The asker repeats the request
	// until workPatience is over.
	slowPatience = 4 * time.Second
	workPatience = 10 * time.Minute
)

// Restore compares the machines' copies of a room with its stream and, if ask names a machine, makes that one write
// the stream again. A complete stream stays.
func (o *Set) Restore(ctx context.Context, name mail.RoomName, ask wire.RestoreRoom) (wire.RestoredRoom, error) {
	done := wire.RestoredRoom{Room: name}
	if o.Cluster == nil {
		return done, mail.Errorf(mail.Invalid, "this post office has no rooms on NATS servers. To repair a room in "+
			"a file: pennypost verify --repair")
	}
	if err := o.Cluster.Trouble(); err != nil {
		return done, err
	}
	g, gone, err := o.Cluster.Gone(ctx, string(name))
	switch {
	case err != nil:
		return done, err
	case gone && g.To != "":
		return done, jetstream.MovedTo(string(name), g.To)
	case gone:
		return done, mail.Errorf(mail.Conflict, "room %s was removed on purpose, by the user on the machine %s", name,
			g.By)
	}
	full, err := o.compareCopies(ctx, name, &done)
	if err != nil {
		return done, err
	}
	done.Damage, err = o.Cluster.Damage(ctx, string(name), full)
	if err != nil || ask.From == "" {
		return done, err
	}
	if done.Damage == "" {
		return done, mail.Errorf(mail.Conflict, "the stream of room %s is complete: it has everything that the "+
			"copies have. Nothing was changed", name)
	}
	i := slices.IndexFunc(done.Copies, func(c wire.RoomCopy) bool { return c.Machine == ask.From })
	if i < 0 || done.Copies[i].Trouble != "" {
		return done, mail.Errorf(mail.NotFound, "no readable copy of room %s on the machine %q",
			name, ask.From)
	}
	if _, err := o.askSlow(ctx, ask.From, RestoreSubject, name); err != nil {
		return done, err
	}
	done.Restored = true
	if done.Also, err = o.restoreLost(ctx); err != nil {
		return done, err
	}
	o.Cluster.changed.Give()
	o.Log.Info("room restored", "room", name, "from", ask.From, "why", done.Damage)
	return done, nil
}

// restoreLost restores the rooms of a lost shard, each from its fullest copy.
func (o *Set) restoreLost(ctx context.Context) (rooms []mail.RoomName, err error) {
	lost, err := o.Cluster.Lost(ctx)
	for _, name := range lost {
		var found wire.RestoredRoom
		room := mail.RoomName(name)
		if _, err := o.compareCopies(ctx, room, &found); mail.CodeOf(err) == mail.NotFound {
			continue // no reachable machine has it
		} else if err != nil {
			return rooms, err
		}
		if _, err := o.askSlow(ctx, found.Copies[0].Machine, RestoreSubject, room); err != nil {
			return rooms, fmt.Errorf("room %s, which was in the same stream: %w", room, err)
		}
		rooms = append(rooms, room)
	}
	return rooms, err
}

// compareCopies asks all machines for their copies of a room, lists these in done, the fullest first, and returns
// the fullest.
func (o *Set) compareCopies(ctx context.Context, name mail.RoomName, done *wire.RestoredRoom) (*jetstream.Survey,
	error) {
	var asking sync.WaitGroup
	var mu sync.Mutex
	surveys := make(map[mail.Machine]*jetstream.Survey)
	for _, m := range o.Cluster.List() {
		if m.Away {
			done.Copies = append(done.Copies, wire.RoomCopy{Machine: m.Name, Trouble: "the machine is away"})
			continue
		}
		asking.Go(func() {
			s, err := o.surveyOf(ctx, m.Name, name)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				surveys[m.Name] = s
				done.Copies = append(done.Copies, wire.RoomCopy{Machine: m.Name, Last: s.Last, Events: s.Events,
					At: s.At})
			case mail.CodeOf(err) != mail.NotFound:
				done.Copies = append(done.Copies, wire.RoomCopy{Machine: m.Name, Trouble: err.Error()})
			}
		})
	}
	asking.Wait()
	slices.SortFunc(done.Copies, func(a, b wire.RoomCopy) int {
		of, than := surveys[a.Machine], surveys[b.Machine]
		if of == nil || than == nil {
			return cmp.Or(cmp.Compare(len(a.Trouble), len(b.Trouble)), cmp.Compare(a.Machine, b.Machine))
		}
		return cmp.Or(jetstream.Fuller(of, than), cmp.Compare(a.Machine, b.Machine))
	})
	if len(surveys) == 0 {
		return nil, mail.Errorf(mail.NotFound, "no reachable machine has a copy of room %s", name)
	}
	full := surveys[done.Copies[0].Machine]
	for i := range done.Copies {
		if c := &done.Copies[i]; surveys[c.Machine] != nil {
			c.Lacks, c.Besides, c.Differs = surveys[c.Machine].Against(full)
		}
	}
	return full, nil
}

func (o *Set) surveyOf(ctx context.Context, of mail.Machine, name mail.RoomName) (*jetstream.Survey, error) {
	text, err := o.askSlow(ctx, of, SurveySubject, name)
	if err != nil {
		return nil, err
	}
	s := new(jetstream.Survey)
	return s, jsonx.UnmarshalLenient(text, s)
}

// askSlow asks a machine, which may be this one, for work that takes long, and repeats the request until it is done.
func (o *Set) askSlow(ctx context.Context, to mail.Machine, subject string, name mail.RoomName) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, workPatience)
	defer cancel()
	for {
		var text []byte
		var err error
		switch {
		case to != o.Cluster.name:
			text, err = o.Ask(ctx, to, subject, []byte(name))
		case subject == SurveySubject:
			text, err = o.SurveyHere(ctx, name)
		default:
			text, err = o.RestoreHere(ctx, name)
		}
		if mail.CodeOf(err) != mail.Limited || ctx.Err() != nil {
			return text, err
		}
		pause.For(ctx, time.Second/4)
	}
}

// copiedBy returns another machine that has a copy of a room, "" if none answers that it has.
func (c *Cluster) copiedBy(ctx context.Context, room string) mail.Machine {
	if c.machines == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, copyPatience)
	defer cancel()
	others := slices.DeleteFunc(c.machines.List(), func(m mail.MachineStatus) bool { return m.Here || m.Away })
	found := make(chan mail.Machine, len(others))
	for _, m := range others {
		go func() {
			if _, err := c.machines.Ask(ctx, m.Name, CopySubject, []byte(room)); err != nil {
				m.Name = ""
			}
			found <- m.Name
		}()
	}
	for range others {
		if by := <-found; by != "" {
			return by
		}
	}
	return ""
}

// CopyHere answers whether this machine has a copy of a room on the NATS servers. NotFound means that it has none.
func (o *Set) CopyHere(name mail.RoomName) ([]byte, error) {
	if _, err := mail.ParseRoom(string(name)); err != nil {
		return nil, err
	}
	k, err := readKind(o.Dir(name))
	if err == nil && (k.Kind != config.KindJetStream || k.Moved != "" || !jsonl.Holds(o.Dir(name))) {
		err = mail.Errorf(mail.NotFound, "no copy of room %s", name)
	}
	return nil, err
}

// SurveyHere describes this machine's copy of a room.
func (o *Set) SurveyHere(ctx context.Context, name mail.RoomName) ([]byte, error) {
	if k, err := readKind(o.Dir(name)); err != nil || k.Kind != config.KindJetStream || k.Moved != "" {
		return nil, errors.Join(err, mail.Errorf(mail.NotFound, "no copy of room %s", name))
	}
	return o.slow.do(ctx, SurveySubject+" "+string(name), func(ctx context.Context) (text []byte, err error) {
		err = o.With(ctx, name, func(e *Entry) error {
			copied, ok := e.files.(*jetstream.Journal)
			if !ok {
				return o.NoRoom(ctx, name)
			}
			s, err := copied.Survey(ctx)
			if err == nil {
				text, err = jsonx.Marshal(s)
			}
			return err
		})
		return text, err
	})
}

// RestoreHere makes the stream of a room again from this machine's copy.
func (o *Set) RestoreHere(ctx context.Context, name mail.RoomName) ([]byte, error) {
	return o.slow.do(ctx, RestoreSubject+" "+string(name), func(ctx context.Context) ([]byte, error) {
		o.moving.Lock()
		defer o.moving.Unlock()
		return nil, o.hold(ctx, name, func() error {
			files, err := jsonl.Open(o.Dir(name), jsonl.Options{Log: o.Log.With("room", name), Copy: true})
			if err != nil {
				return err
			}
			defer files.Close()
			return o.Cluster.Restore(ctx, string(name), files, o.Cluster.machines.Away)
		})
	})
}

// slow is work that takes longer than its askers wait. Each job runs once, however often it is asked for meanwhile.
type slow struct {
	mu   sync.Mutex
	work map[string]*outcome
}

type outcome struct {
	done chan struct{}
	text []byte
	err  error
}

// do returns the outcome of f, or an error of code Limited if f takes too long: it continues, and the next request
// gets its outcome.
func (s *slow) do(ctx context.Context, key string, f func(context.Context) ([]byte, error)) ([]byte, error) {
	s.mu.Lock()
	w := s.work[key]
	if w == nil {
		w = &outcome{done: make(chan struct{})}
		if s.work == nil {
			s.work = make(map[string]*outcome)
		}
		s.work[key] = w
		go func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), workPatience)
			defer cancel()
			w.text, w.err = f(ctx)
			close(w.done)
		}()
	}
	s.mu.Unlock()
	select {
	case <-w.done:
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.work[key] == w {
			delete(s.work, key)
		}
		return w.text, w.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(slowPatience):
		return nil, mail.Errorf(mail.Limited, "still running; ask again")
	}
}
