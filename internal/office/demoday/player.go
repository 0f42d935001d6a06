package demoday

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"pennypost/internal/mail"
)

// player is an agent of a story. It does what an agent's client does with our hooks.
type player struct {
	stage   *stage
	name    mail.Name
	svc     mail.Service
	session string

	awake   bool      // its session runs
	working bool      // it is in a turn
	busy    time.Time // until when, at least
}

// sessionOf is the session in which an agent of the day ends it, and goes on if somebody plays it further.
func sessionOf(n mail.Name) string {
	sum := sha256.Sum256([]byte(n))
	sum[6], sum[8] = sum[6]&0x0f|0x40, sum[8]&0x3f|0x80 // in the form of a random UUID, as clients' are
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// clientOf is the program in which an agent runs, and doorOf how that is woken.
func clientOf(n mail.Name) string {
	if n == "builder-2" {
		return "codex"
	}
	return "claude"
}

func doorOf(n mail.Name) string {
	if clientOf(n) == "codex" {
		return "codex-queue"
	}
	return "claude-socket"
}

func (p *player) perform(ctx context.Context, st *step) error {
	switch st.verb {
	case "join":
		return p.join(ctx, st.args)
	case "start":
		return p.start(ctx)
	case "leave", "freeze":
		p.awake, p.working = false, false
		_, err := p.turn(ctx, mail.SessionEnd, st.verb == "freeze")
		return err
	case "retire":
		return p.stage.user.Retire(ctx, p.name)
	case "task":
		task := strings.Join(st.args, " ")
		_, err := p.svc.Register(ctx, mail.Presence{Task: &task})
		return err
	case "work":
		err := p.act(ctx)
		p.busy = p.stage.now.Add(24 * time.Hour) // beyond the end of the story
		return err
	case "rest":
		p.busy = p.stage.now
		return p.finish(ctx)
	}
	return fmt.Errorf("nobody can %s", st.verb)
}

// join registers the agent: role=NAME, tags=NAME,NAME.
func (p *player) join(ctx context.Context, words []string) error {
	who, roles := mail.Presence{}, []string(nil)
	for _, w := range words {
		switch key, value, _ := strings.Cut(w, "="); key {
		case "role":
			roles = []string{value}
		case "tags":
			who.Tags = strings.Split(value, ",")
		}
	}
	who.Client = clientOf(p.name)
	if !slices.Contains(roles, string(mail.Orchestrator)) {
		who.Roles = roles
		_, err := p.svc.Register(ctx, who)
		return err
	}
	if _, err := p.svc.Register(ctx, who); err != nil {
		return err
	}
	// A role that no agent gives itself.
	_, err := p.stage.user.Register(ctx, mail.Presence{Name: p.name, Roles: roles, Update: true})
	return err
}

func (p *player) turn(ctx context.Context, m mail.Moment, frozen bool) (mail.Briefing, error) {
	return p.svc.Turn(ctx, mail.Turn{Moment: m, Session: p.session, Client: clientOf(p.name), Frozen: frozen})
}

// start begins the agent's session, and a turn if mail waits.
func (p *player) start(ctx context.Context) error {
	p.awake = true
	brief, err := p.turn(ctx, mail.SessionStart, false)
	if err != nil || len(brief.Items) == 0 {
		return err
	}
	if err := p.show(ctx, brief.Items); err != nil {
		return err
	}
	return p.act(ctx)
}

// act makes sure that the agent is in a turn, and goes on with it for some minutes.
func (p *player) act(ctx context.Context) error {
	p.busy = p.stage.between(2*time.Minute, 7*time.Minute)
	if p.working {
		return nil
	}
	p.working = true
	brief, err := p.turn(ctx, mail.TurnStart, false)
	if err != nil {
		return err
	}
	p.stage.at(p.busy, p.finish)
	return p.show(ctx, brief.Items)
}

// ring is a door that is rung for a message, and answered.
func (p *player) ring(ctx context.Context, id mail.ID) error {
	if !p.awake || p.working {
		return nil
	}
	_, err := p.stage.room.Note(ctx,
		[]mail.Receipt{{Message: id, Reader: mail.AgentAddress(p.name), Mark: mail.MarkNotified,
			Door: doorOf(p.name)}})
	p.stage.at(p.stage.between(time.Second, 3*time.Second), func(ctx context.Context) error {
		if !p.awake {
			return nil
		}
		return p.act(ctx)
	})
	return err
}

// useTool is the moment behind a tool, when what wakes is told to an agent at work.
func (p *player) useTool(ctx context.Context) error {
	if !p.awake || !p.working {
		return nil
	}
	brief, err := p.turn(ctx, mail.AfterTool, false)
	if err != nil {
		return err
	}
	return p.show(ctx, brief.Items)
}

// finish ends the turn when its time has come and no mail keeps it going. Before that the agent looks for what wakes
// nobody.
func (p *player) finish(ctx context.Context) error {
	if !p.awake || !p.working {
		return nil
	}
	if p.stage.now.Before(p.busy) {
		p.stage.at(p.busy, p.finish)
		return nil
	}
	if err := p.look(ctx); err != nil {
		return err
	}
	brief, err := p.turn(ctx, mail.TurnEnd, false)
	if err != nil {
		return err
	}
	if p.working = brief.Continue; p.working {
		p.busy = p.stage.between(time.Minute, 3*time.Minute)
		p.stage.at(p.busy, p.finish)
	}
	return p.show(ctx, brief.Items)
}

// look reads what was not told.
func (p *player) look(ctx context.Context) error {
	page, err := p.svc.Inbox(ctx, mail.InboxQuery{})
	if err != nil {
		return err
	}
	var news []mail.Item
	for _, it := range page.Messages {
		if it.State != mail.Presented {
			news = append(news, it)
		}
	}
	return p.hand(ctx, news, "mcp")
}

func (p *player) show(ctx context.Context, items []mail.Item) error {
	return p.hand(ctx, items, mail.HookDoor)
}

// hand hands messages over through a door; they are read one after the other.
func (p *player) hand(ctx context.Context, items []mail.Item, door string) error {
	if len(items) == 0 {
		return nil
	}
	presented := mail.Marking{Mark: mail.MarkPresented, Door: door}
	at := p.stage.now
	for i := range items {
		id := items[i].ID
		presented.IDs = append(presented.IDs, id)
		at = at.Add(p.stage.between(2*time.Second, 15*time.Second).Sub(p.stage.now))
		p.stage.at(at, func(ctx context.Context) error {
			if !p.awake {
				return nil
			}
			_, err := p.svc.Mark(ctx, mail.Marking{IDs: []mail.ID{id}, Mark: mail.MarkRead})
			return err
		})
	}
	_, err := p.svc.Mark(ctx, presented)
	return err
}
