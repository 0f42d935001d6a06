package github

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// Room is the package's view of a room.
type Room interface {
	// ForFiles returns the room as the user sees it, for mail from outside.
	ForFiles() mail.Service
}

// Options are the rooms that get mail from GitHub, and how to reach them.
type Options struct {
	Rooms map[mail.RoomName]*config.GitHub
	// With calls use with a room, which stays open until use returns.
	With func(ctx context.Context, room mail.RoomName, use func(Room) error) error
	// Dir returns the present or last working directory of an agent's client, or "" if it is unknown.
	Dir   func(room mail.RoomName, agent mail.Name) string
	State string // directory for saved state
	Log   *slog.Logger
}

// Face turns events on GitHub into mail.
type Face struct {
	opts  Options
	rooms map[mail.RoomName]*desk
}

// desk processes the news of one room.
type desk struct {
	*Face
	room mail.RoomName
	conf *config.GitHub
	// turn holds the room's memory and passes it to one user at a time. Nil: not loaded yet.
	turn chan *memory
}

// New returns a Face for the configured rooms.
func New(opts Options) *Face {
	f := &Face{opts: opts, rooms: make(map[mail.RoomName]*desk)}
	for name, conf := range opts.Rooms {
		f.rooms[name] = &desk{Face: f, room: name, conf: conf, turn: make(chan *memory, 1)}
		f.rooms[name].turn <- nil
	}
	return f
}

// On reports whether any room gets mail from GitHub.
func (f *Face) On() bool { return len(f.rooms) > 0 }

// Take processes a webhook delivery. One that is not from GitHub is Unknown; a room without a webhook and a missing
// room give the same NotFound. A repeated delivery is stored once.
func (f *Face) Take(ctx context.Context, room mail.RoomName, d wire.GitHubDelivery) error {
	k := f.rooms[room]
	if k == nil || k.conf.SecretFile == "" {
		return mail.Errorf(mail.NotFound, "no GitHub webhook is set up for this room")
	}
	secret, err := k.conf.Secret()
	if err != nil {
		f.opts.Log.Error("webhook secret cannot be read", "room", room, "err", err)
		return mail.Errorf(mail.Unavailable, "the secret of this webhook cannot be read; nothing was stored")
	}
	if !signed(secret, d) {
		return mail.Errorf(mail.Unknown, "the header X-Hub-Signature-256 does not sign the body with this room's "+
			"secret; nothing was stored")
	}
	all := readers()
	read, ok := all[d.Event]
	if !ok {
		return mail.Errorf(mail.Invalid, "the event %.60q is not supported; supported events: %s", d.Event,
			strings.Join(slices.Sorted(maps.Keys(all)), ", "))
	}
	var p payload
	if err := jsonx.Unmarshal(d.Body, &p); err != nil {
		return mail.Errorf(mail.Invalid, "the body is not a GitHub payload: %s. Nothing was stored",
			jsonx.Explain(err))
	}
	if d.Event == "ping" {
		return nil
	}
	if !k.ours(&p.Repository) {
		return mail.Errorf(mail.Denied, "this room accepts nothing from the repository %.150q", p.Repository.Name)
	}
	return k.with(ctx, func(m *memory) error { return k.take(ctx, m, &p, read) })
}

// signed reports whether a delivery has the signature that docs.github.com requires: the HMAC of the body, in hex.
func signed(secret []byte, d wire.GitHubDelivery) bool {
	got, err := hex.DecodeString(strings.TrimPrefix(d.Signature, "sha256="))
	mac := hmac.New(sha256.New, secret)
	mac.Write(d.Body)
	return err == nil && strings.HasPrefix(d.Signature, "sha256=") && hmac.Equal(got, mac.Sum(nil))
}

// ours reports whether the room takes news of a repository, and sets its name to the configured spelling.
func (k *desk) ours(r *repo) bool {
	i := slices.IndexFunc(k.conf.Repos, func(name string) bool { return strings.EqualFold(name, r.Name) })
	if i >= 0 {
		r.Name = k.conf.Repos[i]
	}
	return i >= 0
}

// with calls do with the memory when it is free.
func (k *desk) with(ctx context.Context, do func(*memory) error) (err error) {
	var m *memory
	select {
	case m = <-k.turn:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { k.turn <- m }()
	if m == nil {
		if m, err = open(k.opts.State, k.room); err != nil {
			m = nil
			return err
		}
	}
	return do(m)
}

// take turns a payload into news, sends it, and saves the memory. The mail is stored first: after a crash the same
// payload gives the same message.
func (k *desk) take(ctx context.Context, m *memory, p *payload, read reader) error {
	n, err := read(p, m)
	if err != nil {
		return err
	}
	if n != nil {
		if err := k.send(ctx, m, n); err != nil {
			return err
		}
		if n.check != "" {
			m.Checks[n.checkKey()] = outcome{Failed: n.failed, At: n.at}
		}
	}
	return m.save()
}

// send stores the mail unless the room has it.
func (k *desk) send(ctx context.Context, m *memory, n *news) error {
	return k.opts.With(ctx, k.room, func(r Room) error {
		room := r.ForFiles()
		roster, err := mail.Roster(ctx, room)
		if err != nil {
			return err
		}
		of := m.Pulls[pullKey(n.repo, n.pull)]
		names := []string{of.Opener}
		for i := range roster {
			if roster[i].Name == mail.GitHub {
				return mail.Errorf(mail.Conflict, "an agent of this room is called %s, the name that mail from "+
					"GitHub uses: rename the agent", mail.GitHub)
			}
			names = append(names, string(roster[i].Name))
		}
		if n.names && !mentions(n.text, names) {
			return nil
		}
		to := []mail.Address{mail.ToUser}
		if agents := k.agents(roster, n); n.own() && len(agents) > 0 {
			to = agents
		}
		it, err := n.letter(to, of, time.Now())
		if err != nil {
			return err
		}
		_, err = room.Import(ctx, []mail.Item{it})
		return err
	})
}

// agents returns the agents whose checkout is on the branch: live ones, or else gone ones, whose mail waits.
func (k *desk) agents(roster []mail.Agent, n *news) (to []mail.Address) {
	if n.branch == "" {
		return nil
	}
	var gone []mail.Address
	for i := range roster {
		dir := k.opts.Dir(k.room, roster[i].Name)
		if dir == "" {
			continue
		}
		branch, repo := config.Checkout(dir)
		switch a := mail.AgentAddress(roster[i].Name); {
		case branch != n.branch || !strings.EqualFold(repo, n.repo):
		case roster[i].State == mail.Gone:
			gone = append(gone, a)
		default:
			to = append(to, a)
		}
	}
	if len(to) == 0 {
		to = gone
	}
	return to[:min(len(to), mail.MaxRecipients)]
}
