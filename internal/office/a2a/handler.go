package a2a

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strconv"
	"time"

	proto "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"pennypost/internal/mail"
)

var _ a2asrv.RequestHandler = (*session)(nil)

const (
	keepAlive = 15 * time.Second
	// patience is how long a send waits for its task. The agent may be off for days, too long to hold a connection:
	// the guest can subscribe, use push, or ask again.
	patience = 5 * time.Minute
	// maxPage and defaultPage are limits of a list of tasks.
	maxPage, defaultPage = 100, 50
)

func (s *session) GetTask(ctx context.Context, r *proto.GetTaskRequest) (*proto.Task, error) {
	t, err := s.load(ctx, mail.ID(r.ID))
	return s.told(t, r.HistoryLength, err)
}

// told returns a task for the guest, and notes the mail that it shows.
func (s *session) told(t *task, history *int, err error) (*proto.Task, error) {
	if err != nil {
		return nil, failure(err)
	}
	for _, it := range t.said {
		if it.By != mail.ByGuest && !it.Read {
			s.shown = append(s.shown, it.ID)
		}
	}
	return t.inProtocol(history), nil
}

// failure returns an error in the protocol's form.
func failure(err error) error {
	if _, ours := errors.AsType[*mail.Error](err); !ours {
		if _, known := errors.AsType[*proto.Error](err); known || errors.Is(err, proto.ErrTaskNotFound) {
			return err
		}
	}
	return inProtocol(err)
}

func (s *session) ListTasks(ctx context.Context, r *proto.ListTasksRequest) (*proto.ListTasksResponse, error) {
	before, err := strconv.ParseUint(r.PageToken, 10, 64)
	if err != nil && r.PageToken != "" || r.PageSize < 0 || r.PageSize > maxPage {
		return nil, bad("pageToken must come from an earlier list, and pageSize must be 1 to %d", maxPage)
	}
	all, err := s.tasks(ctx, "", true)
	if err != nil {
		return nil, failure(err)
	}
	out := &proto.ListTasksResponse{Tasks: []*proto.Task{}, PageSize: r.PageSize}
	if out.PageSize == 0 {
		out.PageSize = defaultPage
	}
	history := new(int)
	if r.HistoryLength != nil {
		history = r.HistoryLength
	}
	var last mail.Seq
	for _, t := range slices.Backward(all) {
		if err := s.ended(ctx, t); err != nil {
			return nil, failure(err)
		}
		if !wanted(r, t) {
			continue
		}
		out.TotalSize++
		switch {
		case before > 0 && t.ask.Seq >= mail.Seq(before):
		case len(out.Tasks) == out.PageSize:
			out.NextPageToken = strconv.FormatUint(uint64(last), 10)
		default:
			one := t.inProtocol(history)
			if last = t.ask.Seq; !r.IncludeArtifacts {
				one.Artifacts = nil
			}
			out.Tasks = append(out.Tasks, one)
		}
	}
	return out, nil
}

// wanted reports whether a task belongs in a list.
func wanted(r *proto.ListTasksRequest, t *task) bool {
	return (r.Status == "" || r.Status == t.state) && (r.ContextID == "" || r.ContextID == t.context()) &&
		(r.StatusTimestampAfter == nil || t.since().After(*r.StatusTimestampAfter))
}

func (s *session) CancelTask(ctx context.Context, r *proto.CancelTaskRequest) (*proto.Task, error) {
	t, err := s.load(ctx, mail.ID(r.ID))
	if err == nil && !t.state.Terminal() {
		if _, err = s.Service.Send(ctx, s.withdraw(t)); err == nil {
			t, err = s.load(ctx, t.ask.ID)
		}
	}
	if err == nil && t.state != proto.TaskStateCanceled {
		err = proto.NewError(proto.ErrTaskNotCancelable, "the task has ended: "+t.state.String())
	}
	return s.told(t, nil, err)
}

func (s *session) SendMessage(ctx context.Context, r *proto.SendMessageRequest) (proto.SendMessageResult, error) {
	id, err := s.send(ctx, r)
	if err != nil {
		return nil, failure(err)
	}
	c := r.Config
	if c == nil {
		c = new(proto.SendMessageConfig)
	}
	var t *task
	if c.ReturnImmediately {
		t, err = s.load(ctx, id)
		return s.told(t, c.HistoryLength, err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = s.follow(ctx, id, func(now *task) bool {
		t = now
		return t.state != proto.TaskStateInputRequired
	})
	if t != nil && ctx.Err() != nil {
		err = nil
	}
	return s.told(t, c.HistoryLength, err)
}

// send sends a guest's message and returns its task's id. A repeated send gives the same message.
func (s *session) send(ctx context.Context, r *proto.SendMessageRequest) (mail.ID, error) {
	m := r.Message
	text, err := read(m)
	if err != nil {
		return "", err
	}
	if c := r.Config; c != nil && c.PushConfig != nil {
		if err := s.checkPush(c.PushConfig); err != nil {
			return "", err
		}
	}
	id := mail.ID(m.TaskID)
	if id == "" {
		id, err = s.ask(ctx, m, text)
	} else {
		err = s.say(ctx, id, m, text)
	}
	if c := r.Config; err == nil && c != nil && c.PushConfig != nil {
		_, err = s.addPush(id, c.PushConfig)
	}
	return id, err
}

// ask begins a task.
func (s *session) ask(ctx context.Context, m *proto.Message, text string) (mail.ID, error) {
	d, err := s.newTask(ctx, m, text)
	if err != nil {
		return "", err
	}
	sent, err := s.Service.Send(ctx, d)
	if mail.CodeOf(err) == mail.NotFound { // the agent in the address is not on the roster
		err = mail.Errorf(mail.Invalid, "no such agent in this room")
	}
	return sent.ID, err
}

// say sends a further message to a task.
func (s *session) say(ctx context.Context, id mail.ID, m *proto.Message, text string) error {
	t, err := s.load(ctx, id)
	switch {
	case err != nil:
		return err
	case m.ContextID != "" && m.ContextID != t.context():
		return bad("the task belongs to another context")
	case t.has(m.ID):
		return nil
	case t.state.Terminal():
		return proto.NewError(proto.ErrUnsupportedOperation, "the task has ended: "+t.state.String())
	}
	_, err = s.Service.Send(ctx, s.more(t, m, text))
	return err
}

func (s *session) SendStreamingMessage(ctx context.Context,
	r *proto.SendMessageRequest) iter.Seq2[proto.Event, error] {
	return func(yield func(proto.Event, error) bool) {
		id, err := s.send(ctx, r)
		if err != nil {
			yield(nil, failure(err))
			return
		}
		s.stream(ctx, id, yield)
	}
}

func (s *session) SubscribeToTask(ctx context.Context,
	r *proto.SubscribeToTaskRequest) iter.Seq2[proto.Event, error] {
	return func(yield func(proto.Event, error) bool) {
		t, err := s.load(ctx, mail.ID(r.ID))
		if err == nil && t.state.Terminal() {
			err = proto.NewError(proto.ErrUnsupportedOperation, "the task has ended: "+t.state.String())
		}
		if err != nil {
			yield(nil, failure(err))
			return
		}
		s.stream(ctx, t.ask.ID, yield)
	}
}

// GetExtendedAgentCard implements a2asrv.RequestHandler: all guests see the same card.
func (s *session) GetExtendedAgentCard(context.Context, *proto.GetExtendedAgentCardRequest) (*proto.AgentCard, error) {
	return nil, proto.ErrExtendedCardNotConfigured
}
