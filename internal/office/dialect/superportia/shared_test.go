package superportia

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// A server started for several identities sends as the one in from_agent, and keeps all their mailboxes. It speaks
// for no one else.
func TestSharedServer(t *testing.T) {
	b := fleetFixture(t)
	const app mail.Name = "Mac App 小克"
	call := func(tool, args string) (any, error) {
		all := tools()
		i := slices.IndexFunc(all, func(t dialect.Tool) bool { return t.Name == tool })
		return all[i].Run(t.Context(), &dialect.Call{Service: b.As(cli), Caller: cli, Args: []byte(args), Now: b.Now(),
			Also: map[mail.Name]mail.Service{app: b.As(app)}, Log: slog.New(slog.DiscardHandler)})
	}
	sentBy := func(from string) (mail.Name, error) {
		out, err := call("send_agent_message", fmt.Sprintf(`{"to":"夏哥","subject":"s","body":"b","from_agent":%q}`, from))
		if err != nil {
			return "", err
		}
		it, err := b.As(captain).Message(t.Context(), out.(*sent).ID)
		if err != nil || it.From.Signer() != out.(*sent).From {
			t.Errorf("it answers %+v and sent %+v, %v", out, it, err)
		}
		return it.From.Signer(), nil
	}
	for from, want := range map[string]mail.Name{"": cli, string(cli): cli, string(app): app} {
		if got, err := sentBy(from); got != want || err != nil {
			t.Errorf("from_agent %q sends as %q, %v", from, got, err)
		}
	}
	if _, err := sentBy(string(captain)); mail.CodeOf(err) != mail.Denied ||
		!strings.Contains(err.Error(), "nothing was stored") || !strings.Contains(err.Error(), agentID) {
		t.Errorf("as somebody else: %v", err)
	}
	if got := box(b, captain, `{}`).Total; got != 3 {
		t.Errorf("the captain has %d messages, want 3", got)
	}

	id := post(b, captain, app, "for the other")
	if _, err := call("check_agent_mailbox", `{"agent_name":"Mac App 小克"}`); err != nil {
		t.Error(err)
	}
	if it, err := b.As(captain).Message(t.Context(), id); err != nil || it.Deliveries[0].State != mail.Presented {
		t.Errorf("after its server listed it: %+v, %v", it, err)
	}
	if _, err := call("mark_message", fmt.Sprintf(`{"msg_id":%q}`, id)); err != nil || !box(b, app, `{}`).Messages[0].Read {
		t.Errorf("marking: %v", err)
	}
	if _, err := call("archive_message", fmt.Sprintf(`{"msg_id":%q}`, id)); err != nil || box(b, app, `{}`).Total != 0 {
		t.Errorf("archiving: %v", err)
	}
	theirs := post(b, app, captain, "the captain's")
	if _, err := call("archive_message", fmt.Sprintf(`{"msg_id":%q}`, theirs)); mail.CodeOf(err) != mail.Denied {
		t.Errorf("archiving the captain's: %v", err)
	}
}
