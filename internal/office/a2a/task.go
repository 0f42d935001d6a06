package a2a

import (
	"cmp"
	"context"
	"slices"
	"time"

	proto "github.com/a2aproject/a2a-go/v2/a2a"

	"pennypost/internal/mail"
)

// task is a task as the room has it: a message of the guest, and the later messages in its thread.
type task struct {
	ask      mail.Item
	archived bool        // retention took it, so it cannot be answered any more
	said     []mail.Item // between the guest and agents that write to it by name, oldest first
	state    proto.TaskState
	by       *mail.Item // the message in said that determines the state, or the newest one from others; or nil
	question *mail.Item // a question that waits for the guest; or nil
}

// load returns a task of the guest.
func (s *session) load(ctx context.Context, id mail.ID) (*task, error) {
	// Hot mail is enough if it shows how the task ended. Otherwise the archive may have more.
	for _, archive := range []bool{false, true} {
		all, err := s.tasks(ctx, id, archive)
		if err != nil && mail.CodeOf(err) != mail.NotFound && mail.CodeOf(err) != mail.Invalid {
			return nil, err
		}
		for _, t := range all {
			if t.ask.ID == id && (archive || t.state.Terminal()) {
				return t, s.ended(ctx, t)
			}
		}
	}
	return nil, proto.ErrTaskNotFound
}

// messages returns the guest's messages in a thread or, if id is "", its last thousand in all, and the cancels of
// tasks there; and which of them retention has archived.
func (s *session) messages(ctx context.Context, id mail.ID, archive bool) (all []mail.Item, cold map[mail.ID]bool,
	err error) {
	q := mail.HistoryQuery{Thread: id, Agent: s.Name, Deliveries: true, Limit: mail.MaxLimit}
	hot, err := s.Service.History(ctx, q)
	if all = hot.Messages; archive && err == nil {
		var both mail.Page
		q.Archive = true
		both, err = s.Service.History(ctx, q)
		all, cold = both.Messages, make(map[mail.ID]bool)
		for i := range all {
			cold[all[i].ID] = !slices.ContainsFunc(hot.Messages, func(o mail.Item) bool { return o.ID == all[i].ID })
		}
	}
	if err != nil {
		return nil, nil, err
	}
	q.Agent, q.Types = "", []mail.Type{mail.Cancel}
	cancels, err := s.Service.History(ctx, q)
	all = append(all, cancels.Messages...)
	slices.SortStableFunc(all, func(a, b mail.Item) int { return cmp.Compare(a.Seq, b.Seq) })
	return all, cold, err
}

// tasks returns the guest's tasks in a thread or, if id is "", those in its last thousand messages.
func (s *session) tasks(ctx context.Context, id mail.ID, archive bool) (all []*task, err error) {
	items, cold, err := s.messages(ctx, id, archive)
	byThread := make(map[mail.ID]*task)
	for i := range items {
		it := &items[i]
		t := byThread[it.ThreadRoot()]
		switch mine := s.isMine(it); {
		case t == nil && mine && it.Type == mail.TaskAssigned && it.ReplyTo == "":
			t = &task{ask: *it, archived: cold[it.ID]}
			all, byThread[it.ID] = append(all, t), t
		case t != nil && (mine || s.isForMe(it) || it.Type == mail.Cancel):
			t.said = append(t.said, *it)
		}
	}
	for _, t := range all {
		t.decide()
		t.said = slices.DeleteFunc(t.said, isCancel)
	}
	return all, err
}

// isCancel reports whether a message is a cancel, which is internal to the room: a guest sees only its effect.
func isCancel(it mail.Item) bool { return it.Type == mail.Cancel }

// isMine reports whether the guest wrote a message through this door.
func (s *session) isMine(it *mail.Item) bool {
	return it.By == mail.ByGuest && slices.Contains(s.names, it.From.Signer())
}

// isForMe reports whether a message was written to the guest by name. Mail to all or to a tag is not for outsiders.
func (s *session) isForMe(it *mail.Item) bool {
	return it.By != mail.ByGuest && slices.ContainsFunc(it.To, func(a mail.Address) bool {
		return a.Kind() == mail.ToAgent && slices.Contains(s.names, mail.Name(a.Value()))
	})
}

// decide sets the task's state: the first message that ends it counts.
func (t *task) decide() {
	t.state = proto.TaskStateSubmitted
	if slices.ContainsFunc(t.ask.Deliveries, func(d mail.Delivery) bool {
		return d.State == mail.Presented || d.State == mail.Read || d.State == mail.Archived
	}) {
		t.state = proto.TaskStateWorking
	}
	for i := range t.said {
		it := &t.said[i]
		if end := ending(it); end != "" {
			t.state, t.by, t.question = end, new(*it), nil
			return
		}
		if it.By == mail.ByGuest {
			continue
		}
		if t.by, t.state = new(*it), proto.TaskStateWorking; it.Type.Asks() && it.Open {
			t.question = t.by
		}
	}
	if t.question != nil {
		t.state, t.by = proto.TaskStateInputRequired, t.question
	}
}

// ending returns the state in which a message ends its task, or "" if it does not.
func ending(it *mail.Item) proto.TaskState {
	switch {
	case it.By == mail.ByGuest:
		if noteOf(it).Withdrawn {
			return proto.TaskStateCanceled
		}
	case it.Type == mail.Cancel:
		return proto.TaskStateCanceled
	case it.Declines():
		return proto.TaskStateRejected
	case it.Type.Rule().Ends:
		return proto.TaskStateCompleted
	}
	return ""
}

// ended sets a task to failed if no recipient will answer it any more: it expired, retention took it, or they were
// removed from the roster. An agent that is gone may return, so dead mail waits.
func (s *session) ended(ctx context.Context, t *task) error {
	if t.state.Terminal() || t.state == proto.TaskStateInputRequired || !t.archived && len(t.ask.Deliveries) == 0 {
		return nil
	}
	for _, d := range t.ask.Deliveries {
		if t.archived || d.State == mail.Expired {
			continue
		}
		if _, there, err := mail.OneAgent(ctx, s.Service, d.Agent); err != nil || there || d.Agent == "" {
			return err
		}
	}
	t.state, t.by = proto.TaskStateFailed, nil
	return nil
}

// key returns a text that changes with the task's state.
func (t *task) key() string {
	if t.by == nil {
		return string(t.state)
	}
	return string(t.state) + " " + string(t.by.ID)
}

// since returns when the task entered its state.
func (t *task) since() time.Time {
	at := t.ask.Sent
	for _, d := range t.ask.Deliveries {
		at = max(at, d.At)
	}
	if t.by != nil {
		at = t.by.Sent
	}
	return at.Std()
}

// context returns the guest's context id, which groups tasks, or else the task's id.
func (t *task) context() string { return cmp.Or(noteOf(&t.ask).Context, string(t.ask.ID)) }

func (t *task) TaskInfo() proto.TaskInfo {
	return proto.TaskInfo{TaskID: proto.TaskID(t.ask.ID), ContextID: t.context()}
}

// failed is the text for a task that no one will answer any more.
const failed = "No recipient will answer the task: it expired, or they left."

// status returns the task's state in the protocol's form.
func (t *task) status() proto.TaskStatus {
	at := t.since()
	st := proto.TaskStatus{State: t.state, Timestamp: &at}
	switch {
	case t.state == proto.TaskStateFailed:
		st.Message = proto.NewMessageForTask(proto.MessageRoleAgent, t, proto.NewTextPart(failed))
		st.Message.ID = string(t.ask.ID) + "-failed"
	case t.by != nil && t.state != proto.TaskStateCanceled && t.state != proto.TaskStateCompleted:
		st.Message = t.message(t.by)
	}
	return st
}

// artifact returns the result, or nil.
func (t *task) artifact() *proto.Artifact {
	if t.state != proto.TaskStateCompleted {
		return nil
	}
	return &proto.Artifact{ID: proto.ArtifactID(t.by.ID), Name: cmp.Or(t.by.Subject, "answer"),
		Parts: proto.ContentParts{proto.NewTextPart(t.by.Body)}}
}

// maxHistory is the maximum number of a task's messages in an answer.
const maxHistory = 100

// inProtocol returns a task in the protocol's form with at most history of its last messages; nil: the maximum.
func (t *task) inProtocol(history *int) *proto.Task {
	out := &proto.Task{ID: proto.TaskID(t.ask.ID), ContextID: t.context(), Status: t.status()}
	if a := t.artifact(); a != nil {
		out.Artifacts = []*proto.Artifact{a}
	}
	most := maxHistory
	if history != nil {
		most = min(most, max(0, *history))
	}
	all := append([]mail.Item{t.ask}, t.said...)
	for i := max(0, len(all)-most); i < len(all); i++ {
		out.History = append(out.History, t.message(&all[i]))
	}
	return out
}

// message returns one of a task's messages in the protocol's form.
func (t *task) message(it *mail.Item) *proto.Message {
	role, id, text := proto.MessageRoleAgent, string(it.ID), it.Body
	if it.By == mail.ByGuest {
		role, id, text = proto.MessageRoleUser, cmp.Or(noteOf(it).Message, id), guestsText(text)
	} else {
		text += choices(it)
	}
	m := proto.NewMessageForTask(role, t, proto.NewTextPart(text))
	m.ID = id
	return m
}

// choices lists the answers that a question offers.
func choices(it *mail.Item) (text string) {
	if !it.Type.Asks() {
		return ""
	}
	for _, o := range it.Choices() {
		text += "\n- " + o.Answer
	}
	return text
}
