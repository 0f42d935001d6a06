package caller

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"pennypost/internal/base/child"
	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/office/acp"
	"pennypost/internal/office/hook"
	"pennypost/internal/office/wake/door"
)

// askOverACP asks the person an agent's question in a turn over ACP, which no client shows. It returns when ctx ends.
func (o *Rooms) askOverACP(ctx context.Context, who door.Asker, q *acp.Question) (option string) {
	svc := o.Own(context.WithoutCancel(ctx), who.Room, who.Agent)
	h := held(who, q)
	if len(h.Offers) == 0 {
		return ""
	}
	a, ok, err := mail.OneAgent(ctx, svc, who.Agent)
	if !ok || a.Session == "" {
		o.Set.Log.Warn("agent's question not on the desk: its MCP server has not joined", "room", who.Room,
			"agent", who.Agent, "err", err)
		return ""
	}
	h.Session = a.Session
	if h.ID, err = o.Asked.Open(ctx, svc, h); err != nil {
		o.Set.Log.Warn("agent's question not on the desk", "room", who.Room, "agent", who.Agent, "err", err)
		return ""
	}
	answer, err := o.Asked.Wait(ctx, h.ID, h.Shown())
	if answer == nil || err != nil {
		if err := o.Asked.Settle(ctx, svc, &h, mail.DialogEnded); err != nil {
			o.Set.Log.Warn("dialog not reported to the room", "room", who.Room, "agent", who.Agent, "err", err)
		}
		return ""
	}
	defer o.Asked.Taken(h.ID)
	return chosen(q, answer)
}

// held returns a question in the desk's form, without the session. It is shown whole.
func held(who door.Asker, q *acp.Question) hook.Held {
	var tool struct {
		Title   string      `json:"title"`
		Kind    string      `json:"kind"`
		Input   jsonx.Value `json:"rawInput"`
		Content jsonx.Value `json:"content"`
	}
	_ = jsonx.UnmarshalLenient(q.Tool, &tool)
	h := hook.Held{Room: who.Room, Agent: who.Agent, Client: who.Client, Process: who.Process}
	shown, says := q.Tool, ""
	if content := strings.TrimSpace(string(tool.Content)); len(tool.Input) > 0 && tool.Input[0] == '{' &&
		(content == "" || content == "[]" || content == "null") {
		shown, says = tool.Input, tool.Title
	}
	h.Asked = hook.Permission(cmp.Or(tool.Kind, "tool"), shown)
	h.Says, h.Dir, h.Beside = child.Plain(says), who.Dir, true
	sum := sha256.Sum256(append([]byte("acp\x00"), q.Tool...))
	h.Sum = hex.EncodeToString(sum[:])
	for _, r := range replies(q) {
		h.Offers = append(h.Offers, r.Offer)
	}
	return h
}

// reply is an answer that an agent accepts, with its option.
type reply struct {
	mail.Offer
	option string
}

// replies returns the replies to a question. A permanent refusal is left to the client's own settings.
func replies(q *acp.Question) (list []reply) {
	once := make(map[mail.Verdict]bool)
	for i, o := range q.Options {
		verdict := map[string]mail.Verdict{"allow_once": mail.SayAllow, "allow_always": mail.SayAllow,
			"reject_once": mail.SayDeny}[o.Kind]
		if verdict == "" || o.ID == "" {
			continue
		}
		r := reply{mail.Offer{Verdict: verdict, Rule: i + 1, Writes: child.Plain(o.Name)}, o.ID}
		if o.Kind != "allow_always" && !once[verdict] {
			once[verdict] = true
			r.Rule, r.Writes = 0, ""
		}
		if verdict == mail.SayDeny && r.Rule == 0 {
			r.Writes = "it accepts no text with an answer: send the text as mail"
		}
		list = append(list, r)
	}
	return list
}

// chosen returns the option of an answer, "" if there is none.
func chosen(q *acp.Question, a *mail.DialogAnswer) string {
	for _, r := range replies(q) {
		if r.Verdict == a.Verdict && r.Rule == a.Rule {
			return r.option
		}
	}
	return ""
}

// makeWay makes turns over ACP yield to a session of their agent that the caller is beginning: a running turn is
// cancelled, and none begins until begun is called, when the room and the doors know the session. A process below
// another agent's session belongs to that agent, whatever it claims: it cancels nothing.
func (v *Room) makeWay(ctx context.Context) (begun func()) {
	turns := v.office.Set.Reach.Turns
	if v.ID.Own() || v.inTurn() {
		return func() {}
	}
	begun = turns.Bar(v.name, v.ID.Name())
	if !turns.Run(v.name, v.ID.Name()) {
		return begun
	}
	e, _, err := v.enter(ctx, true)
	if err != nil {
		return begun
	}
	bound := e != nil && e.Room.Binds(v.ID.Programs())
	v.leave(e)
	if !bound {
		turns.Yield(ctx, v.name, v.ID.Name())
	}
	return begun
}

// lives reports whether an agent has a session now.
func (o *Rooms) lives(ctx context.Context, room mail.RoomName, agent mail.Name) bool {
	a, ok, err := mail.OneAgent(ctx, o.Own(ctx, room, mail.User), agent)
	return ok && err == nil && a.Session != ""
}

// inTurn reports whether the caller is a process of its turn over ACP.
func (v *Room) inTurn() bool {
	return v.office.Set.Reach.Turns.Has(v.name, v.ID.Name(), v.ID.Programs())
}

// shares reports whether a connection is an additional one of a turn over ACP whose agent already has one: it is no
// session of its own. Gemini CLI starts a configured server once for itself and once for the session.
func (v *Room) shares(ctx context.Context, p *mail.Presence) (a mail.Agent, shared bool) {
	if !p.Join || p.End || !v.inTurn() {
		return a, false
	}
	a, ok, err := mail.OneAgent(ctx, v.office.Own(ctx, v.name, v.ID.Name()), v.ID.Name())
	return a, ok && err == nil && a.Session != "" && a.Session != p.Session
}

// working marks an agent that has joined in its turn over ACP as working, because no hook reports it.
func (v *Room) working(ctx context.Context, agent mail.Name) {
	if !v.inTurn() {
		return
	}
	_, err := v.office.Own(ctx, v.name, agent).Register(ctx, mail.Presence{Update: true, State: mail.Working})
	if err != nil {
		v.office.Set.Log.Warn("agent in a turn not shown as working", "room", v.name, "agent", agent, "err", err)
	}
}
