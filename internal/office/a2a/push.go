package a2a

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	proto "github.com/a2aproject/a2a-go/v2/a2a"

	"pennypost/internal/base/kept"
	"pennypost/internal/base/life"
	"pennypost/internal/base/pause"
	"pennypost/internal/base/webhook"
	"pennypost/internal/config"
	"pennypost/internal/mail"
)

// Limits of pushes.
const (
	maxPushes   = 64 // for one guest, over all its tasks
	pushTimeout = 10 * time.Second
	pushTries   = 60

	maxSecrets = 8 << 10 // total bytes of a configuration's other texts
)

// push is a guest's request to send a task's news to an address.
type push struct {
	Room  mail.RoomName    `json:"room"`
	Token string           `json:"token_sum"` // the guest's
	Told  string           `json:"told"`      // state of the task in the last push
	Tries int              `json:"tries,omitzero"`
	Ask   proto.PushConfig `json:"ask"`
}

func (p *push) is(room mail.RoomName, token string, task proto.TaskID, id string) bool {
	return p.Room == room && p.Token == token && (task == "" || p.Ask.TaskID == task) && (id == "" || p.Ask.ID == id)
}

// pushes are the push configurations of all guests.
type pushes struct {
	file  string
	begun pause.Nudge // a guest has its first configuration

	mu  sync.Mutex
	all []push
	on  map[string]pause.Nudge // guests with a running pushTo, by the hash of the token
}

func (p *pushes) load(file string) error {
	p.file, p.begun, p.on = file, pause.NewNudge(), make(map[string]pause.Nudge)
	return kept.Load(file, &p.all)
}

// change changes the configurations with f, unless they cannot be saved.
func (p *pushes) change(f func([]push) ([]push, error)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	all, err := f(slices.Clone(p.all))
	if err == nil {
		err = kept.Save(p.file, all)
	}
	if err != nil {
		return err
	}
	p.all = all
	p.begun.Give()
	for _, n := range p.on {
		n.Give()
	}
	return nil
}

// of returns a guest's configurations.
func (p *pushes) of(room mail.RoomName, token string, task proto.TaskID, id string) []push {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.all), func(o push) bool { return !o.is(room, token, task, id) })
}

// drop removes a guest's configurations.
func (p *pushes) drop(room mail.RoomName, token string, task proto.TaskID, id string) error {
	return p.change(func(all []push) ([]push, error) {
		return slices.DeleteFunc(all, func(o push) bool { return o.is(room, token, task, id) }), nil
	})
}

// checkPush refuses an unusable configuration.
func (s *session) checkPush(c *proto.PushConfig) error {
	if err := webhook.CheckAddress(c.URL, s.config.Private); err != nil {
		return bad("url: %s", err.Error())
	}
	words := c.ID + c.Token
	if a := c.Auth; a != nil {
		words += a.Credentials
		if !strings.EqualFold(a.Scheme, "Bearer") && !strings.EqualFold(a.Scheme, "Basic") {
			return bad("authentication.scheme must be Bearer or Basic")
		}
	}
	if len(words) > maxSecrets || strings.ContainsFunc(words, func(r rune) bool { return r < ' ' || r > '~' }) {
		return bad("id, token and credentials must be printable ASCII, at most %d characters in all", maxSecrets)
	}
	return nil
}

// addPush saves a push configuration for a guest's task. It replaces one with the same id.
func (s *session) addPush(task mail.ID, c *proto.PushConfig) (*proto.PushConfig, error) {
	one := push{Room: s.Room, Token: s.Token, Ask: *c}
	if one.Ask.TaskID = proto.TaskID(task); one.Ask.ID == "" {
		one.Ask.ID = rand.Text()
	}
	err := s.door.pushes.change(func(all []push) ([]push, error) {
		all = slices.DeleteFunc(all, func(o push) bool { return o.is(s.Room, s.Token, one.Ask.TaskID, one.Ask.ID) })
		n := 0
		for i := range all {
			if all[i].is(s.Room, s.Token, "", "") {
				n++
			}
		}
		if n >= maxPushes {
			return nil, proto.NewError(proto.ErrServerError, "too many push configurations for this guest; delete "+
				"one first")
		}
		return append(all, one), nil
	})
	return shownPush(&one.Ask), err
}

// shownPush returns a configuration without its secrets.
func shownPush(c *proto.PushConfig) *proto.PushConfig {
	out := *c
	out.Token = ""
	if c.Auth != nil {
		out.Auth = &proto.PushAuthInfo{Scheme: c.Auth.Scheme}
	}
	return &out
}

func (s *session) CreateTaskPushConfig(ctx context.Context, c *proto.PushConfig) (*proto.PushConfig, error) {
	t, err := s.load(ctx, mail.ID(c.TaskID))
	if err == nil {
		err = s.checkPush(c)
	}
	if err != nil {
		return nil, failure(err)
	}
	made, err := s.addPush(t.ask.ID, c)
	if err != nil {
		return nil, failure(err)
	}
	return made, nil
}

func (s *session) GetTaskPushConfig(_ context.Context, r *proto.GetTaskPushConfigRequest) (*proto.PushConfig, error) {
	found := s.door.pushes.of(s.Room, s.Token, r.TaskID, r.ID)
	if r.ID == "" || r.TaskID == "" || len(found) == 0 {
		return nil, proto.NewError(proto.ErrTaskNotFound, "no such push configuration")
	}
	return shownPush(&found[0].Ask), nil
}

func (s *session) ListTaskPushConfigs(ctx context.Context, r *proto.ListTaskPushConfigRequest) (
	*proto.ListTaskPushConfigResponse, error) {
	if _, err := s.load(ctx, mail.ID(r.TaskID)); err != nil {
		return nil, failure(err)
	}
	out := &proto.ListTaskPushConfigResponse{Configs: []*proto.PushConfig{}}
	for _, p := range s.door.pushes.of(s.Room, s.Token, r.TaskID, "") {
		out.Configs = append(out.Configs, shownPush(&p.Ask))
	}
	return out, nil
}

func (s *session) DeleteTaskPushConfig(_ context.Context, r *proto.DeleteTaskPushConfigRequest) error {
	if r.TaskID == "" || r.ID == "" {
		return bad("the task id and the push configuration id are required")
	}
	if err := s.door.pushes.drop(s.Room, s.Token, r.TaskID, r.ID); err != nil {
		return failure(err)
	}
	return nil
}

// Run pushes news until ctx ends.
func (d *Door) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	for {
		d.pushes.mu.Lock()
		for _, p := range d.pushes.all {
			if d.pushes.on[p.Token] != nil {
				continue
			}
			n := pause.NewNudge()
			d.pushes.on[p.Token] = n
			running.Go(func() { d.pushTo(ctx, p.Room, p.Token, n) })
		}
		d.pushes.mu.Unlock()
		select {
		case <-d.pushes.begun:
		case <-ctx.Done():
			return
		}
	}
}

// pushTo pushes to a guest until it has no configurations or its right has ended.
func (d *Door) pushTo(ctx context.Context, room mail.RoomName, token string, news pause.Nudge) {
	defer func() {
		d.pushes.mu.Lock()
		delete(d.pushes.on, token)
		d.pushes.mu.Unlock()
		d.pushes.begun.Give() // there may be new ones
	}()
	for len(d.pushes.of(room, token, "", "")) > 0 {
		err := d.pushWhile(ctx, room, token, news)
		switch code := mail.CodeOf(err); {
		case ctx.Err() != nil:
			return
		case code == mail.Unknown || code == mail.NotFound || code == mail.Denied || !d.Config(room).Enabled:
			if err := d.pushes.drop(room, token, "", ""); err != nil {
				d.Log.Error("A2A: push configurations not saved", "err", err)
			}
		case err != nil:
			d.Log.Warn("A2A: push delayed", "room", room, "err", err)
		}
		if err != nil && !pause.For(ctx, again) {
			return
		}
	}
}

// pushWhile pushes to a guest while its right lasts.
func (d *Door) pushWhile(ctx context.Context, room mail.RoomName, token string, news pause.Nudge) error {
	ctx, end := life.Begin(ctx)
	defer end()
	guest, err := d.Stand(ctx, room, token)
	if err != nil {
		return err
	}
	s := &session{Guest: guest, door: d, config: d.Config(room)}
	if err := s.begin(ctx); err != nil {
		return err
	}
	w, err := s.watch(ctx)
	if err != nil {
		return err
	}
	defer w.Close()
	for {
		var tasks []mail.ID
		for _, p := range d.pushes.of(room, token, "", "") {
			if s.pushOne(ctx, p) {
				tasks = append(tasks, mail.ID(p.Ask.TaskID))
			}
		}
		if err := life.Err(ctx); err != nil || len(tasks) == 0 {
			return err
		}
		waiting, stop := context.WithCancel(ctx)
		go func() {
			defer stop()
			news.Await(waiting, again)
		}()
		err := next(waiting, w, tasks)
		ended := waiting.Err() != nil
		stop()
		if err != nil && (!ended || ctx.Err() != nil) {
			return cmp.Or(life.Err(ctx), err)
		}
	}
}

// pushOne sends a task if its state has changed since the last push, and reports whether more may follow.
func (s *session) pushOne(ctx context.Context, p push) bool {
	t, err := s.load(ctx, mail.ID(p.Ask.TaskID))
	if err != nil {
		if errors.Is(err, proto.ErrTaskNotFound) {
			s.after(p, true)
		}
		return !errors.Is(err, proto.ErrTaskNotFound)
	}
	if p.Told == t.key() {
		return true
	}
	whole, _ := s.told(t, new(int), nil)
	if err = s.post(ctx, &p.Ask, t.key(), whole); err == nil {
		p.Told, p.Tries = t.key(), 0
		s.handedOver(ctx)
	} else {
		s.shown = nil
		p.Tries++
		s.door.Log.Info("A2A: not pushed", "room", s.Room, "guest", s.Name, "err", err)
	}
	over := err == nil && t.state.Terminal() || errors.Is(err, webhook.ErrGone) || p.Tries >= pushTries
	s.after(p, over)
	return !over
}

// after saves the result of a push, unless the guest has changed the configuration in the meantime.
func (s *session) after(p push, over bool) {
	pushes := &s.door.pushes
	pushes.mu.Lock()
	defer pushes.mu.Unlock()
	i := slices.IndexFunc(pushes.all, func(o push) bool {
		return o.is(p.Room, p.Token, p.Ask.TaskID, p.Ask.ID) && o.Ask.URL == p.Ask.URL
	})
	switch {
	case i < 0:
		return
	case over:
		pushes.all = slices.Delete(pushes.all, i, i+1)
	default:
		pushes.all[i] = p
	}
	if err := kept.Save(pushes.file, pushes.all); err != nil {
		s.door.Log.Error("A2A: push progress not saved", "err", err)
	}
}

// tokenHeader is the header with the receiver's token. The protocol's libraries disagree on an X- prefix.
const tokenHeader = "A2A-Notification-Token"

// post sends a task to an address. A token that is a secret of Standard Webhooks is not sent: it signs.
func (s *session) post(ctx context.Context, c *proto.PushConfig, key string, t *proto.Task) error {
	body, err := json.Marshal(proto.StreamResponse{Event: t})
	if err != nil {
		return err
	}
	h := http.Header{}
	var secret config.Secret
	if secret.UnmarshalText([]byte(c.Token)) != nil && c.Token != "" {
		h.Set(tokenHeader, c.Token)
		h.Set("X-"+tokenHeader, c.Token)
	}
	if c.Auth != nil && c.Auth.Credentials != "" {
		h.Set("Authorization", c.Auth.Scheme+" "+c.Auth.Credentials)
	}
	to := webhook.New(c.URL, secret, pushTimeout)
	if !s.config.Private {
		to = to.Public()
	}
	_, err = to.PostBody(ctx, string(t.ID)+"."+strings.ReplaceAll(key, " ", "."), body, h)
	return err
}
