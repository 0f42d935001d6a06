package daemon

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pennypost/internal/config"
	"pennypost/internal/mail"
)

// standIn answers as gh api does: with the file whose name is the path, or with an empty list. It notes each
// request.
const standIn = `#!/bin/sh
for path; do :; done
printf '%s\n' "$*" >> DIR/asked
file=DIR/$(printf %s "$path" | tr '/?&=' '____' | sed 's/since_[^_]*/since/')
if [ -e DIR/broken ]; then echo 'gh: API rate limit exceeded (HTTP 403)' >&2; exit 1; fi
cat "$file" 2>/dev/null || echo '[]'
`

// stand is GitHub as seen through gh.
type stand struct {
	t   *testing.T
	dir string
}

func newStand(t *testing.T) *stand {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	s := &stand{t, t.TempDir()}
	s.put("gh", strings.ReplaceAll(standIn, "DIR", s.dir))
	s.runs("")
	s.list("pulls_state_all_sort_updated_direction_desc", "")
	return s
}

func (s *stand) put(name, text string) {
	s.t.Helper()
	file := filepath.Join(s.dir, name)
	if err := os.WriteFile(file+".new", []byte(text), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		s.t.Fatal(err)
	}
}

// list writes the first page of a list.
func (s *stand) list(path, elements string) {
	s.put("repos_me_shop_"+path+"_per_page_100_page_1", "["+elements+"]")
}

func (s *stand) runs(elements string) {
	s.put("repos_me_shop_actions_runs_status_completed_per_page_100_page_1",
		`{"total_count":1,"workflow_runs":[`+elements+`]}`)
}

// asked waits until each list was requested again.
func (s *stand) asked() {
	s.t.Helper()
	count := func() int {
		text, _ := os.ReadFile(filepath.Join(s.dir, "asked"))
		return strings.Count(string(text), "/pulls?state")
	}
	for n, until := count(), time.Now().Add(20*time.Second); count() < n+2; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(until) {
			s.t.Fatal("gh is not asked")
		}
	}
}

// member returns the member of that name in a payload.
func member(payload, name, from string) string {
	_, rest, _ := strings.Cut(payload, `"`+name+`":`)
	depth := 0
	for i, r := range rest {
		switch r {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return strings.Replace(rest[:i+1], "{", "{"+from, 1)
			}
		}
	}
	return ""
}

// inAnHour moves the stamps of a payload past the moment at which the post office began to poll.
func inAnHour(text string) string {
	for i := range 60 {
		text = strings.ReplaceAll(text, stamp(i), time.Now().UTC().Add(time.Hour).Add(
			time.Duration(i)*time.Second).Format(time.RFC3339))
	}
	return text
}

// TestGitHubPoll holds that polling gh gives the mail that a webhook would have made, once, even over a restart;
// that earlier entries, and edits of old comments, give none; and that an error loses nothing.
func TestGitHubPoll(t *testing.T) {
	gh := newStand(t)
	cfg := testConfig(t)
	cfg.Rooms = map[mail.RoomName]config.Room{"lab": {GitHub: &config.GitHub{Repos: []string{"me/shop"},
		Poll: config.Duration(10 * time.Millisecond), Program: filepath.Join(gh.dir, "gh")}}}
	old := commentOf(1, "alice", "MEMBER", "Long ago.")
	gh.list("pulls_comments_sort_updated_direction_asc_since", member(old, "comment", ""))
	r := start(t, Options{Config: cfg})
	r.works(t, "builder", worktree(t, "sums"))
	gh.asked()
	pull := inAnHour(member(reviewOf(1, "me/shop", "approved", "alice", "MEMBER", ""), "pull_request", ""))
	review := inAnHour(member(strings.Replace(reviewOf(2, "me/shop", "APPROVED", "alice", "MEMBER", "Fine."), `"action"`,
		`"x"`, 1), "review", ""))
	comment := inAnHour(member(commentOf(3, "alice", "MEMBER", "Why?"), "comment",
		`"pull_request_url":"https://api.github.com/repos/me/shop/pulls/7",`))
	mention := inAnHour(member(mentionOf(4, "eve", "NONE", "@me look"), "comment", ""))
	run := inAnHour(member(runOf(5, 5, "me/shop", "sums", "failure"), "workflow_run", ""))
	gh.put("broken", "")
	gh.list("pulls_7_reviews", review)
	gh.list("pulls_state_all_sort_updated_direction_desc", pull)
	gh.list("pulls_comments_sort_updated_direction_asc_since", member(old, "comment", "")+","+comment)
	gh.list("issues_comments_sort_updated_direction_asc_since", mention)
	gh.runs(run)
	gh.asked()
	if n := len(r.got(t, "builder")); n != 0 {
		t.Errorf("%d messages of a GitHub that answers nothing", n)
	}
	if err := os.Remove(filepath.Join(gh.dir, "broken")); err != nil {
		t.Fatal(err)
	}
	gh.asked()
	want := "review-result me/shop#7: approved by alice\ncustom me/shop#7: comment on sum.go:3 by alice\n" +
		"custom me/shop#7: tests failed\n"
	check := func(when string) {
		t.Helper()
		said := ""
		for _, it := range r.got(t, "builder") {
			said += fmt.Sprintf("%s %s\n", it.Type, it.Subject)
		}
		if said != want {
			t.Errorf("%s: got\n%swant\n%s", when, said, want)
		}
		if list := r.got(t, mail.User); len(list) != 1 || list[0].Subject != "me/shop#7: mention by eve" {
			t.Errorf("%s: to the user %v", when, list)
		}
	}
	check("after the error")
	r.stop(t)
	gh.runs(run + "," + inAnHour(member(runOf(6, 9, "me/shop", "sums", "success"), "workflow_run", "")))
	r = start(t, Options{Config: cfg})
	gh.asked()
	want += "custom me/shop#7: tests passes again\n"
	check("after a restart")
	text, err := os.ReadFile(filepath.Join(gh.dir, "asked"))
	if err != nil || !strings.Contains(string(text), "api --method GET -H Accept: application/vnd.github+json "+
		"-H X-GitHub-Api-Version: 2022-11-28 "+
		"repos/me/shop/pulls?state=all&sort=updated&direction=desc&per_page=100&page=1\n") {
		t.Errorf("gh was asked\n%.500s, %v", text, err)
	}
}
