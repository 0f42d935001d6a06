package github

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// seeds are payloads in the forms that docs.github.com documents, reduced to the members in use.
var seeds = map[string]string{
	"pull_request": `{"action":"opened","pull_request":{"number":7,"title":"T","user":{"login":"me"},
		"head":{"ref":"b","repo":null}},"repository":{"id":1,"full_name":"me/shop"}}`,
	"pull_request_review": `{"action":"submitted","review":{"id":1,"user":{"login":"al"},"body":"x","state":"approved",
		"author_association":"OWNER","submitted_at":"2026-05-10T14:00:00Z"},"pull_request":{"number":7,
		"head":{"ref":"b","repo":{"id":1,"full_name":"me/shop"}}},"repository":{"id":1,"full_name":"me/shop"}}`,
	"pull_request_review_comment": `{"action":"created","comment":{"id":1,"user":{"login":"al"},"body":"x","path":"f",
		"line":null,"author_association":"NONE"},"pull_request":{"number":7},"repository":{"full_name":"me/shop"}}`,
	"issue_comment": `{"action":"created","issue":{"number":7,"pull_request":{}},"comment":{"id":1,"body":"@me"},
		"repository":{"full_name":"me/shop"}}`,
	"check_run": `{"action":"completed","check_run":{"id":1,"name":"lint","conclusion":"failure",
		"completed_at":"2026-05-10T14:00:00Z","output":{"title":null,"summary":null},"pull_requests":[{"number":7,
		"head":{"ref":"b","repo":{"id":1}}}]},"repository":{"id":1,"full_name":"me/shop"}}`,
	"workflow_run": `{"action":"completed","workflow_run":{"id":1,"name":"tests","head_branch":null,
		"head_repository":{"full_name":"me/shop"},"conclusion":"failure","pull_requests":[]},
		"repository":{"id":1,"full_name":"me/shop"}}`,
}

// FuzzPayload: no payload crashes the program, and each result is a valid message from GitHub, with single-line
// fields.
func FuzzPayload(f *testing.F) {
	for event, text := range seeds {
		f.Add(event, []byte(text))
	}
	f.Fuzz(func(t *testing.T, event string, text []byte) {
		read, ok := readers()[event]
		var p payload
		if !ok || jsonx.Unmarshal(text, &p) != nil {
			return
		}
		p.Repository.Name = "me/shop" // as desk.ours ensures
		m := &memory{Pulls: map[string]known{}, Checks: map[string]outcome{}}
		n, err := read(&p, m)
		if err != nil || n == nil {
			return
		}
		it, err := n.letter([]mail.Address{"agent:builder"}, m.Pulls[pullKey(n.repo, n.pull)], time.Now())
		if err != nil {
			t.Fatal(err)
		}
		d := mail.Draft{To: mail.Recipients{"builder"}, Type: string(it.Type), Subject: it.Subject, Body: it.Body,
			Metadata: it.Metadata, Priority: string(it.Priority)}
		if err := d.CheckAccepted(mail.MaxBody); err != nil || it.From != "agent:github" || it.Via != mail.ViaGitHub ||
			it.Sent <= 0 {
			t.Errorf("%s %q became %+v, %v", event, text, it, err)
		}
	})
}

// TestSeeds: every seed is a valid payload, so that the fuzzer starts from such.
func TestSeeds(t *testing.T) {
	for event, text := range seeds {
		var p payload
		if err := jsonx.Unmarshal([]byte(text), &p); err != nil {
			t.Errorf("%s: %v", event, err)
			continue
		}
		m := &memory{Pulls: map[string]known{}, Checks: map[string]outcome{}}
		if n, err := readers()[event](&p, m); err != nil || (n == nil) != (event == "pull_request") {
			t.Errorf("%s: %+v, %v", event, n, err)
		}
	}
}

func TestMentions(t *testing.T) {
	for text, want := range map[string]bool{"@me": true, "ask @Me, please": true, "(@me)": true, "x@me": false,
		"@me-too": false, "@meow": false, "https://x.example/@me": false, "no": false, "": false, "@me/team": false} {
		if got := mentions(text, []string{"me", ""}); got != want {
			t.Errorf("%q mentions me: %t, want %t", text, got, want)
		}
	}
}

// TestMemoryIsBounded: the most recent entries are kept, even over a restart, at most `most` of them.
func TestMemoryIsBounded(t *testing.T) {
	dir := t.TempDir()
	m, err := open(dir, "lab")
	if err != nil {
		t.Fatal(err)
	}
	began := time.Unix(1778421600, 0).UTC()
	for i := range most + 5 {
		at := began.Add(time.Duration(i) * time.Second)
		m.Pulls[pullKey("me/shop", i+1)] = known{Branch: "b", Heard: at}
		m.Checks[pullKey("me/shop", i+1)] = outcome{Failed: true, At: at}
	}
	if err := m.save(); err != nil {
		t.Fatal(err)
	}
	again, err := open(dir, "lab")
	if err != nil || len(again.Pulls) != most || len(again.Checks) != most || again.Pulls["me/shop#5"].Branch != "" ||
		again.Pulls["me/shop#6"].Branch != "b" || again.onBranch("me/shop", "b") != most+5 {
		t.Errorf("%d pull requests and %d checks are known, %v", len(again.Pulls), len(again.Checks), err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(files) != 1 || !strings.HasSuffix(files[0], "lab.json") {
		t.Errorf("files %v", files)
	}
}
