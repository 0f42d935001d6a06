package claudeteams

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// States of a handshake.
const (
	asked      = "open"
	approved   = "approved"
	rejected   = "rejected"
	superseded = "superseded" // its member has left, or a new instance has that name
)

// handshake is a request and its outcome. It is derived from the inboxes and stored nowhere.
type handshake struct {
	Kind   string    `json:"kind"` // shutdown or plan
	ID     string    `json:"request_id"`
	Member string    `json:"member"` // the member to shut down, or the author of the plan
	State  string    `json:"state"`
	Asked  mail.Time `json:"asked"`
}

// kindOf returns the handshake kind of a frame, and whether the frame is a request.
func kindOf(frame string) (kind string, asks bool) {
	switch frame {
	case "shutdown_request", "plan_approval_request":
		return strings.SplitN(frame, "_", 2)[0], true
	case "shutdown_response", "shutdown_approved", "shutdown_rejected", "plan_approval_response":
		return strings.SplitN(frame, "_", 2)[0], false
	}
	return "", false
}

// letterBy is a frame with its sender and recipient.
type letterBy struct {
	frame
	from, to string
	at       mail.Time
}

// frames returns the handshake frames of all inboxes.
func (t *team) frames() ([]letterBy, error) {
	bases, err := inboxNames(t.files(), inboxDir)
	if err != nil {
		return nil, err
	}
	var out []letterBy
	for _, base := range bases {
		b := t.box(t.config.owner(base))
		if _, err := b.load(); err != nil {
			continue // not an array of messages; the bridge reports it
		}
		out = append(out, b.frames()...)
	}
	return out, nil
}

func (b *inbox) frames() (out []letterBy) {
	for _, l := range b.letters {
		f, ok := classify(l.Text)
		if kind, _ := kindOf(f.kind); !ok || kind == "" || l.why != "" || !f.known() {
			continue
		}
		at := f.at()
		if at == 0 {
			at = l.sent
		}
		out = append(out, letterBy{f, l.From, b.owner, at})
	}
	return out
}

// handshakes returns the handshakes of a team, oldest request first.
func (t *team) handshakes() ([]handshake, error) {
	all, err := t.frames()
	var out []handshake
	for _, f := range all {
		if kind, asks := kindOf(f.kind); asks {
			h := handshake{Kind: kind, ID: f.request(), Member: f.to, State: asked, Asked: f.at}
			if kind == "plan" {
				h.Member = f.from
			}
			h.settle(t, all)
			out = append(out, h)
		}
	}
	slices.SortStableFunc(out, func(a, b handshake) int { return cmp.Compare(a.Asked, b.Asked) })
	return out, err
}

// settle finds the answer: the first with the same id from the right sender. A request without one is superseded if
// it predates the present instance of the member.
func (h *handshake) settle(t *team, all []letterBy) {
	for _, f := range all {
		kind, asks := kindOf(f.kind)
		by := f.from
		if kind == "plan" {
			by = f.to
		}
		if asks || kind != h.Kind || f.request() != h.ID || by != h.Member {
			continue
		}
		if h.State = rejected; f.approved() {
			h.State = approved
		}
		return
	}
	if m, ok := t.config.member(h.Member); !ok || h.Asked < m.joined {
		h.State = superseded
	}
}

// open returns the open handshake that an answer refers to.
func (t *team) open(kind, id string) (handshake, error) {
	all, err := t.handshakes()
	if err != nil {
		return handshake{}, err
	}
	var waiting []string
	found := handshake{}
	for _, h := range all {
		if h.Kind != kind {
			continue
		}
		if h.State == asked {
			waiting = append(waiting, h.ID)
		}
		if h.ID == id && (found.ID == "" || h.State == asked) {
			found = h
		}
	}
	open := "none is open"
	if len(waiting) > 0 {
		open = "open are " + strings.Join(waiting, ", ")
	}
	switch found.State {
	case asked:
		return found, nil
	case "":
		return found, mail.Errorf(mail.NotFound, "team %s has no %s request %q; %s. Nothing was sent", t.config.name,
			kind, id, open)
	case superseded:
		return found, mail.Errorf(mail.Conflict,
			"the %s request %s is older than %s: it was for a former member of that name; %s. Nothing was sent",
			kind,
			id, found.Member, open)
	}
	return found, mail.Errorf(mail.Conflict, "the %s request %s was %s already; %s. Nothing was sent", kind, id,
		found.State, open)
}

// unanswered refuses a second answer: it looks under the lock of the inbox that receives the answers.
func unanswered(h handshake) func(*inbox) error {
	return func(b *inbox) error {
		for _, f := range b.frames() {
			kind, asks := kindOf(f.kind)
			if !asks && kind == h.Kind && f.request() == h.ID && (f.from == h.Member || kind == "plan") {
				return mail.Errorf(mail.Conflict, "the %s request %s was answered already; nothing was sent", h.Kind,
					h.ID)
			}
		}
		return nil
	}
}

// requestID returns the id of a new request. Its number is the time of the request.
func requestID(kind, member string, now mail.Time) string {
	return kind + "-" + strconv.FormatInt(int64(now), 10) + "@" + member
}

// fresh refuses a request whose id is already in the inbox: two requests of one millisecond would share it.
func fresh(id string) func(*inbox) error {
	return func(b *inbox) error {
		if slices.ContainsFunc(b.frames(), func(f letterBy) bool { return f.request() == id }) {
			return mail.Errorf(mail.Conflict, "the request %s exists already; nothing was sent", id)
		}
		return nil
	}
}

// asking returns a verb that makes a request or answers one.
func asking(ask func(*team, context.Context, string) error, answer func(*team, context.Context, string, bool) error,
) func(context.Context, *dialect.Invocation) error {
	return inTeam(func(ctx context.Context, t *team, v *dialect.Invocation) error {
		switch v.Args[1] {
		case "request":
			return ask(t, ctx, v.Args[2])
		case "approve", "reject":
			return answer(t, ctx, v.Args[2], v.Args[1] == "approve")
		}
		return mail.Errorf(mail.Invalid, "%q is not valid; use request, approve or reject", v.Args[1])
	})
}

// verifies reports whether a member accepts the lead's frames only with the lead's signature, lead_sig: Claude Code
// starts members that have a process of their own with the key that verifies it (--lead-verify-key, 2.1.330).
func (t *team) verifies(m member) bool {
	backend := m.object.string("backendType")
	return !t.config.ours() && backend != "" && backend != "in-process"
}

func (t *team) unsigned(to member) error {
	return mail.Errorf(mail.Denied, "%s accepts this only with the lead's signature (lead_sig), which only the "+
		"Claude Code session that leads team %s can make: nothing was sent. Ask that session with: pennypost team "+
		"send %s %s TEXT --agent %s", to.name, t.config.name, t.name, t.config.lead, to.name)
}

func (t *team) askShutdown(ctx context.Context, name string) error {
	from, err := t.actor(ctx, t.config.lead)
	if err != nil {
		return err
	}
	to, err := t.member(name)
	switch {
	case err != nil:
		return err
	case to.name == t.config.lead:
		return mail.Errorf(mail.Denied,
			"%s leads team %s and cannot be shut down; nothing was sent. Delete the team instead", to.name,
			t.config.name)
	case from.name != t.config.lead:
		return mail.Errorf(mail.Denied, "only %s, the lead of team %s, can ask members to end; nothing was sent",
			t.config.lead, t.config.name)
	case t.verifies(to):
		return t.unsigned(to)
	}
	id := requestID("shutdown", to.name, mail.TimeOf(t.v.Now))
	text := makeFrame("shutdown_request", isText("requestId", id), isText("from", from.name),
		isText("reason", t.v.Text("reason")), isText("timestamp", isoTime(t.v.Now)))
	return t.tell(ctx, from, to, text, "", fresh(id), id)
}

func (t *team) answerShutdown(ctx context.Context, id string, yes bool) error {
	h, err := t.open("shutdown", id)
	if h.State == approved && yes && t.config.ours() {
		if err := t.leave(h); err != nil { // a crash may have separated the answer from the departure
			return err
		}
	}
	if err != nil {
		return err
	}
	from, err := t.actor(ctx, h.Member)
	if err != nil {
		return err
	}
	if from.name != h.Member {
		return mail.Errorf(mail.Denied, "the request %s is for %s, and %s cannot answer it; nothing was sent", id,
			h.Member, from.name)
	}
	lead, err := t.member(t.config.lead)
	if err != nil {
		return err
	}
	if err := t.post(from, lead, t.shutdownAnswer(from, id, yes), "", unanswered(h)); err != nil {
		return err
	}
	if yes && t.config.ours() {
		if err := t.leave(h); err != nil {
			return err
		}
	}
	if err := t.sync(ctx); err != nil {
		return err
	}
	return t.sent(from, lead, id)
}

// shutdownAnswer returns the frame of an answer in the team's wire.
func (t *team) shutdownAnswer(from member, id string, yes bool) string {
	reason := t.v.Text("reason")
	switch {
	case !t.native():
		return makeFrame("shutdown_response", isText("requestId", id), isBool("approved", yes),
			isText("content", reason))
	case yes:
		return makeFrame("shutdown_approved", isText("requestId", id), isText("from", from.name),
			isText("timestamp", isoTime(t.v.Now)),
			isText("paneId", from.object.string("tmuxPaneId")),
			isText("backendType", from.object.string("backendType")))
	}
	return makeFrame("shutdown_rejected", isText("requestId", id), isText("from", from.name), isText("reason", reason),
		isText("timestamp", isoTime(t.v.Now)))
}

// leave removes the member that approved its shutdown from the team. Its inbox stays.
func (t *team) leave(h handshake) error {
	if m, ok := t.config.member(h.Member); !ok || m.joined > h.Asked {
		return nil
	}
	return editConfig(t.lock, t.files(), func(c *config) error {
		if m, ok := c.member(h.Member); ok && m.joined <= h.Asked {
			c.remove(h.Member)
		}
		return nil
	})
}

func (t *team) askPlan(ctx context.Context, text string) error {
	from, err := t.actor(ctx, "")
	if err != nil {
		return err
	}
	lead, err := t.member(t.config.lead)
	if err != nil {
		return err
	}
	file := t.v.Text("file")
	if text, err = t.planText(text, file); err != nil {
		return err
	}
	switch {
	case from.name == lead.name:
		return mail.Errorf(mail.Invalid, "%s cannot ask itself; nothing was sent", from.name)
	case !from.planMode:
		return mail.Errorf(mail.Denied,
			"the plans of %s need no approval: planModeRequired is not set. Nothing was sent", from.name)
	case strings.TrimSpace(text) == "":
		return mail.Errorf(mail.Invalid, "the plan is empty; nothing was sent")
	}
	id := requestID("plan", from.name, mail.TimeOf(t.v.Now))
	frame := makeFrame("plan_approval_request", isText("requestId", id), isText("from", from.name),
		isText("plan", text))
	if t.native() {
		frame = makeFrame("plan_approval_request", isText("from", from.name), isText("timestamp", isoTime(t.v.Now)),
			isText("planFilePath", file), isText("planContent", text), isText("requestId", id))
	}
	return t.tell(ctx, from, lead, frame, "", fresh(id), id)
}

// planText returns the plan: the argument or, if that is "-", the content of --file or of standard input.
func (t *team) planText(text, file string) (string, error) {
	var b []byte
	var err error
	switch {
	case text == "-" && file != "":
		b, err = os.ReadFile(t.v.Path(file))
	case text == "-":
		b, err = io.ReadAll(io.LimitReader(t.v.Stdin, mail.MaxBody+1))
	default:
		b = []byte(text)
	}
	if err == nil && len(b) > mail.MaxBody {
		err = mail.Errorf(mail.TooLarge, "the plan is longer than %d bytes; nothing was sent", mail.MaxBody)
	}
	if err != nil {
		return "", fmt.Errorf("read the plan: %w", err)
	}
	return dialect.Clean(string(b)), nil
}

func (t *team) answerPlan(ctx context.Context, id string, yes bool) error {
	h, err := t.open("plan", id)
	if err != nil {
		return err
	}
	from, err := t.actor(ctx, t.config.lead)
	if err != nil {
		return err
	}
	if from.name != t.config.lead {
		return mail.Errorf(mail.Denied, "only %s, the lead of team %s, can answer plans; nothing was sent",
			t.config.lead,
			t.config.name)
	}
	to, err := t.member(h.Member)
	if err != nil {
		return err
	}
	if t.verifies(to) {
		return t.unsigned(to)
	}
	text := makeFrame("plan_approval_response", isText("requestId", id), isBool("approved", yes),
		isText("feedback", t.v.Text("feedback")), isText("timestamp", isoTime(t.v.Now)))
	return t.tell(ctx, from, to, text, "", unanswered(h), id)
}
