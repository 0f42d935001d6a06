package a2a

import (
	"context"
	"slices"
	"time"

	proto "github.com/a2aproject/a2a-go/v2/a2a"

	"pennypost/internal/mail"
)

// stream yields a task and then its changes until it has ended.
func (s *session) stream(ctx context.Context, id mail.ID, yield func(proto.Event, error) bool) {
	first := true
	err := s.follow(ctx, id, func(t *task) bool {
		whole, _ := s.told(t, nil, nil)
		events := []proto.Event{whole}
		if !first {
			events = t.news()
		}
		first = false
		for _, e := range events {
			if !yield(e, nil) {
				return false
			}
		}
		s.handedOver(ctx)
		return true
	})
	if err != nil {
		yield(nil, failure(err))
	}
}

// news returns the events of a changed task.
func (t *task) news() []proto.Event {
	var events []proto.Event
	if a := t.artifact(); a != nil {
		events = append(events, &proto.TaskArtifactUpdateEvent{TaskID: proto.TaskID(t.ask.ID), ContextID: t.context(),
			Artifact: a, LastChunk: true})
	}
	return append(events, &proto.TaskStatusUpdateEvent{TaskID: proto.TaskID(t.ask.ID), ContextID: t.context(),
		Status: t.status()})
}

// follow calls told with a task, and again after each change, until the task has ended or told returns false.
func (s *session) follow(ctx context.Context, id mail.ID, told func(*task) bool) error {
	leave, err := s.wait()
	if err != nil {
		return err
	}
	defer leave()
	w, err := s.watch(ctx)
	if err != nil {
		return err
	}
	defer w.Close()
	for last := ""; ; {
		t, err := s.load(ctx, id)
		if err != nil {
			return err
		}
		if key := t.key(); key != last && !told(t) {
			return nil
		} else {
			last = key
		}
		if t.state.Terminal() {
			return nil
		}
		if err := next(ctx, w, []mail.ID{id}); err != nil {
			return err
		}
	}
}

// watch returns a cursor over the room's events from now on.
func (s *session) watch(ctx context.Context) (mail.Watch, error) {
	st, err := s.Service.Status(ctx)
	if err != nil {
		return nil, err
	}
	return s.Service.Watch(ctx, st.Seq)
}

// again is how long a task may go without a check: it can expire without an event.
const again = time.Minute

// next waits for an event that concerns one of some tasks, or for a while.
func next(ctx context.Context, w mail.Watch, tasks []mail.ID) error {
	timed, cancel := context.WithTimeout(ctx, again)
	defer cancel()
	for {
		events, err := w.Next(timed)
		switch {
		case err != nil && timed.Err() != nil && ctx.Err() == nil:
			return nil
		case err != nil:
			return err
		case slices.ContainsFunc(events, func(e mail.Event) bool { return concerns(&e, tasks) }):
			return nil
		}
	}
}

// concerns reports whether an event may change the state of one of some tasks.
func concerns(e *mail.Event, tasks []mail.ID) bool {
	switch {
	case e.Message != nil:
		return slices.Contains(tasks, e.Message.ThreadRoot())
	case e.Receipt != nil:
		return slices.Contains(tasks, e.Receipt.Message)
	}
	return e.Erased != nil || e.Settled != nil || e.Agent != nil && e.Agent.Retired
}
