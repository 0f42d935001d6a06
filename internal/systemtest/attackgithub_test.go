package systemtest

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"pennypost/internal/wire"
)

// githubWord is the secret of the webhook.
const githubWord = "a secret of sixteen bytes"

// github puts an attack into every text on GitHub that a user can write: a member's review, which goes to the agents
// at work on the branch, and the names of its author, of the pull request and of its subject.
func (a *assault) github(id int, text string) {
	a.t.Helper()
	now := time.Now().UTC().Format(time.RFC3339)
	body, err := json.Marshal(map[string]any{
		"action": "created",
		"comment": map[string]any{"id": id, "body": text, "path": text, "html_url": "https://github.com/" + text,
			"user": map[string]any{"login": text}, "author_association": "MEMBER", "created_at": now},
		"pull_request": map[string]any{"number": 7, "title": text, "user": map[string]any{"login": "me"},
			"head": map[string]any{"ref": "sums", "repo": map[string]any{"id": 1, "full_name": "me/shop"}}},
		"repository": map[string]any{"id": 1, "full_name": "me/shop"},
	})
	if err != nil {
		a.t.Fatal(err)
	}
	mac := hmac.New(sha256.New, []byte(githubWord))
	mac.Write(body)
	req, err := http.NewRequestWithContext(a.t.Context(), http.MethodPost,
		"http://pennypost"+wire.Base+"/rooms/default/github", strings.NewReader(string(body)))
	if err != nil {
		a.t.Fatal(err)
	}
	req.Header.Set("Content-Type", wire.JSON)
	req.Header.Set(wire.GitHubEvent, "pull_request_review_comment")
	req.Header.Set(wire.GitHubSignature, "sha256="+hex.EncodeToString(mac.Sum(nil)))
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (
		net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(a.home, "pennypost.sock"))
	}}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		a.t.Errorf("GitHub's %.40q: status %d", text, resp.StatusCode)
	}
}
