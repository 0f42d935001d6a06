package daemon

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

const hookWord = "a secret of sixteen bytes"

// withGitHub runs a post office whose room lab takes what GitHub says of me/shop.
func withGitHub(t *testing.T, change func(*config.GitHub)) *running {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(hookWord+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := testConfig(t)
	github := &config.GitHub{Repos: []string{"me/shop"}, SecretFile: file}
	if change != nil {
		change(github)
	}
	cfg.Rooms = map[mail.RoomName]config.Room{"lab": {GitHub: github}}
	return start(t, Options{Config: cfg})
}

// signature is the header that GitHub sends with a body.
func signature(word, body string) string {
	mac := hmac.New(sha256.New, []byte(word))
	mac.Write([]byte(body))
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// deliver sends what GitHub would, and returns the status.
func (r *running) deliver(t *testing.T, event, body string) int {
	t.Helper()
	return r.deliverTo(t, "lab", event, body, signature(hookWord, body))
}

func (r *running) deliverTo(t *testing.T, room, event, body, signature string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
		r.place.HTTP+wire.Base+"/rooms/"+room+"/github", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", wire.JSON)
	req.Header.Set("X-GitHub-Delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958")
	req.Header.Set(wire.GitHubEvent, event)
	if signature != "" {
		req.Header.Set(wire.GitHubSignature, signature)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// worktree makes a checkout of me/shop on a branch.
func worktree(t *testing.T, branch string) string {
	t.Helper()
	dir := t.TempDir()
	for _, args := range [][]string{{"init", "-q", "-b", branch}, {"remote", "add", "origin", "git@github.com:me/shop.git"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git: %v %s", err, out)
		}
	}
	return dir
}

// works has an agent work in a directory, as its client's hooks tell.
func (r *running) works(t *testing.T, agent mail.Name, dir string) {
	t.Helper()
	room, err := r.office.Room(t.Context(), "lab", agent)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := room.Turn(t.Context(), mail.Turn{Moment: mail.SessionStart, Session: "of " + string(agent),
		Client: "claude", Access: &mail.Access{Dir: dir}}); err != nil {
		t.Fatal(err)
	}
}

// got is what is in a mailbox of room lab, the oldest first.
func (r *running) got(t *testing.T, who mail.Name) []mail.Item {
	t.Helper()
	room, err := r.office.Room(t.Context(), "lab", who)
	if err != nil {
		t.Fatal(err)
	}
	page, err := room.Inbox(t.Context(), mail.InboxQuery{})
	if err != nil {
		t.Fatal(err)
	}
	return page.Messages
}

// began is by which the times in payloads count: mail of long ago has expired.
var began = time.Now().UTC().Add(-time.Hour).Truncate(time.Second)

// stamp is a time that is so many seconds later.
func stamp(seconds int) string { return began.Add(time.Duration(seconds) * time.Second).Format(time.RFC3339) }

func reviewOf(id int, head, state, who, rank, text string) string {
	return fmt.Sprintf(`{"action":"submitted","review":{"id":%d,"user":{"login":%q},"body":%q,"state":%q,
		"html_url":"https://github.com/me/shop/pull/7#pullrequestreview-%[1]d","author_association":%[6]q,
		"submitted_at":%[8]q},"pull_request":{"number":7,"title":"Sum up","user":{"login":"me"},
		"head":{"ref":"sums","sha":"0f","repo":{"id":1,"full_name":%[7]q}}},
		"repository":{"id":1,"full_name":"me/shop"},"sender":{"login":"alice"}}`, id, who, text, state, "", rank, head, stamp(0))
}

// TestGitHubReview holds that a review is urgent mail from outside to the agent whose checkout is on the branch.
func TestGitHubReview(t *testing.T) {
	r := withGitHub(t, nil)
	r.works(t, "builder", worktree(t, "sums"))
	body := reviewOf(1, "me/shop", "changes_requested", "alice", "MEMBER", "The tax is **missing**.")
	for range 2 {
		if status := r.deliver(t, "pull_request_review", body); status != http.StatusNoContent {
			t.Fatalf("status %d", status)
		}
	}
	list := r.got(t, "builder")
	if len(list) != 1 {
		t.Fatalf("%d messages, want one", len(list))
	}
	it := list[0]
	if it.From != "agent:github" || it.Via != "github" || it.Type != mail.ReviewResult || it.Priority != mail.Urgent ||
		it.Subject != "me/shop#7: changes requested by alice" || !strings.HasSuffix(it.Body, "\n\nThe tax is **missing**.") ||
		it.Metadata.Text("verdict") != "changes-requested" || it.Sent.Std().Format(time.RFC3339) != stamp(0) {
		t.Errorf("%+v", it)
	}
}
