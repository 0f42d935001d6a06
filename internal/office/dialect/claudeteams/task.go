package claudeteams

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"pennypost/internal/base/confined"
	"pennypost/internal/base/durable"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// task implements "team task".
func task(ctx context.Context, t *team, v *dialect.Invocation) error {
	by, err := t.actor(ctx, t.config.lead)
	if err != nil {
		return err
	}
	if !t.config.ours() {
		return mail.Errorf(mail.Denied, "team %s is run by Claude Code, and only Claude Code changes its tasks; "+
			"nothing was changed. Write to a member with: pennypost team send", t.config.name)
	}
	owner := v.Text("owner")
	if owner != "" {
		if _, err := t.member(owner); err != nil {
			return err
		}
	}
	id, o, err := t.saveTask(owner)
	if err != nil {
		return err
	}
	if owner != "" {
		if err := t.announce(by, owner, id, o); err != nil {
			return err
		}
		if err := t.sync(ctx); err != nil {
			return err
		}
	}
	return v.Say(struct {
		ID    string `json:"id"`
		Owner string `json:"owner,omitempty"`
	}{id, owner}, "Task %s%s.", id, map[bool]string{true: " is " + owner + "'s",
		false: " is in the list"}[owner != ""])
}

// announce tells a member that a task is assigned to it. Members also assign tasks to themselves.
func (t *team) announce(by member, owner, id string, o object) error {
	to, err := t.member(owner)
	if err != nil {
		return err
	}
	text := makeFrame("task_assignment", isText("taskId", id), isText("subject", o.string("subject")),
		isText("description", o.string("description")),
		isText("assignedBy", by.name), isText("timestamp", isoTime(t.v.Now)))
	return t.post(by, to, text, "", nil)
}

// saveTask writes a task's file: a new one, or the changed one of --id.
func (t *team) saveTask(owner string) (id string, o object, err error) {
	if err := durable.MkdirAll(t.tasks, 0o700); err != nil {
		return "", nil, err
	}
	tasks := confined.At(t.tasks)
	if f, err := tasks.OpenFile(".lock", os.O_CREATE, 0o600); err == nil {
		f.Close()
	}
	err = t.lock.hold(tasks, ".lock", func(confirm func() error) error {
		if id, o, err = t.changedTask(owner); err != nil {
			return err
		}
		return replace(tasks, id+".json", o.neat(0), confirm)
	})
	return id, o, err
}

func (t *team) changedTask(owner string) (id string, o object, err error) {
	v := t.v
	if id = v.Text("id"); id == "" {
		if id, err = t.nextTask(); err != nil {
			return "", nil, err
		}
	}
	if id != sanitise(id) || len(id) > mail.MaxName {
		return "", nil, mail.Errorf(mail.Invalid, "%q is not a valid task id; use letters, digits, '_' and '-'",
			id)
	}
	text, err := confined.At(t.tasks).ReadFile(id + ".json")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if v.Text("subject") == "" {
			return "", nil, mail.Errorf(mail.Invalid, "no task %s in team %s; a new one needs --subject",
				id, t.config.name)
		}
		o = object{}.set("id", quote(id)).set("subject", quote(v.Text("subject"))).set("description",
			quote(v.Text("description")))
		if owner != "" {
			o = o.set("owner", quote(owner))
		}
		return id, o.set("status", quote("pending")).set("blocks", []byte("[]")).set("blockedBy", []byte("[]")), nil
	case err != nil:
		return "", nil, err
	}
	o, ok := parseObject(text)
	if !ok {
		return "", nil, mail.Errorf(mail.Unavailable, "%s is not a task; it stays unchanged",
			filepath.Join(t.tasks, id+".json"))
	}
	for _, name := range []string{"subject", "description", "owner"} {
		if v.Given[name] {
			o = o.set(name, quote(v.Text(name)))
		}
	}
	return id, o, nil
}

// nextTask returns the number after the highest.
func (t *team) nextTask() (string, error) {
	list, err := confined.At(t.tasks).ReadDir(".")
	last := 0
	for _, f := range list {
		if n, err := strconv.Atoi(strings.TrimSuffix(f.Name(), ".json")); err == nil {
			last = max(last, n)
		}
	}
	return strconv.Itoa(last + 1), err
}

// turnEnd implements "team turn-end".
func turnEnd(ctx context.Context, t *team, v *dialect.Invocation) error {
	from, err := t.actor(ctx, "")
	if err != nil {
		return err
	}
	lead, err := t.member(t.config.lead)
	if err != nil {
		return err
	}
	if from.name == lead.name {
		return mail.Errorf(mail.Invalid, "%s is the lead, and cannot notify itself; nothing was sent", from.name)
	}
	why := "available"
	if v.Switch("interrupted") {
		why = "interrupted"
	}
	text := makeFrame("idle_notification", isText("from", from.name), isText("timestamp", isoTime(v.Now)),
		isText("idleReason", why),
		isText("summary", oneLine(v.Text("summary"), mail.MaxSubject)))
	return t.tell(ctx, from, lead, text, "", nil, "")
}
