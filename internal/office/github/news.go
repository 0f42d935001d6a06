package github

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pennypost/internal/mail"
)

// news is an event on GitHub.
type news struct {
	id     string // identifies it, however often and by whichever way it arrives
	repo   string
	pull   int    // 0: unknown
	branch string // in the repository itself; "": a fork's, or unknown
	who    string // the author's login; "" for a check
	rank   string // the author's association
	says   string // the event in a few words
	text   string // the author's text
	url    string
	at     time.Time

	verdict string // of a review
	names   bool   // it counts only if it mentions an agent or the opener of the pull request
	check   string // the name of the check
	failed  bool   // of a check
}

// own reports whether the news may reach an agent.
func (n *news) own() bool {
	if n.check != "" {
		return n.branch != ""
	}
	return slices.Contains([]string{"OWNER", "MEMBER", "COLLABORATOR"}, n.rank)
}

// reader turns a payload into news, or nil, and records its other data in memory.
type reader func(*payload, *memory) (*news, error)

// readers are the readers by webhook event. A ping has no news.
func readers() map[string]reader {
	return map[string]reader{
		"ping": func(*payload, *memory) (*news, error) { return nil, nil },
		"pull_request": func(p *payload, m *memory) (*news, error) {
			return nil, m.learn(p.Repository, p.Pull)
		},
		"pull_request_review":         ofReview,
		"pull_request_review_comment": ofReviewComment,
		"issue_comment":               ofComment,
		"check_run":                   ofCheck,
		"workflow_run":                ofRun,
	}
}

func lacks(member string) error {
	return mail.Errorf(mail.Invalid, "the delivery has no readable %s; nothing was stored", member)
}

// of begins news about the payload's pull request.
func of(p *payload, m *memory, id string) (*news, error) {
	if err := m.learn(p.Repository, p.Pull); err != nil {
		return nil, err
	}
	return m.about(p.Repository.Name, p.Pull.Number, id), nil
}

func ofReview(p *payload, m *memory) (*news, error) {
	r := p.Review
	if r == nil || r.ID <= 0 {
		return nil, lacks("review")
	}
	n, err := of(p, m, "review/"+strconv.FormatInt(r.ID, 10))
	if err != nil {
		return nil, err
	}
	n.who, n.rank, n.text, n.url, n.at = r.User.Login, r.Association, r.Body, r.URL, r.Submitted
	switch state := strings.ToLower(r.State); {
	case p.Action != "submitted":
		return nil, nil
	case state == "approved":
		n.verdict, n.says = "approved", "approved"
	case state == "changes_requested":
		n.verdict, n.says = "changes-requested", "changes requested"
	case state == "commented" && strings.TrimSpace(r.Body) != "":
		n.says = "reviewed"
	default: // its comments arrive separately
		return nil, nil
	}
	return n, nil
}

func ofReviewComment(p *payload, m *memory) (*news, error) {
	c := p.Comment
	if c == nil || c.ID <= 0 {
		return nil, lacks("comment")
	}
	if err := m.learn(p.Repository, p.Pull); err != nil || p.Action != "created" {
		return nil, err
	}
	return m.reviewComment(p.Repository.Name, p.Pull.Number, c), nil
}

// reviewComment returns news of a review comment on a known pull request.
func (m *memory) reviewComment(repo string, number int, c *comment) *news {
	n := m.about(repo, number, "review-comment/"+strconv.FormatInt(c.ID, 10))
	n.comment(c)
	if n.says = "comment"; c.Path != "" {
		n.says += " on " + c.Path
		if c.Line > 0 {
			n.says += ":" + strconv.Itoa(c.Line)
		}
	}
	return n
}

func ofComment(p *payload, m *memory) (*news, error) {
	c := p.Comment
	if c == nil || c.ID <= 0 || p.Issue == nil || p.Issue.Number <= 0 {
		return nil, lacks("comment or issue")
	}
	if p.Action != "created" || p.Issue.PullRequest == nil {
		return nil, nil
	}
	key := pullKey(p.Repository.Name, p.Issue.Number)
	if _, ok := m.Pulls[key]; !ok { // GitHub does not give its branch
		m.Pulls[key] = known{Opener: p.Issue.User.Login, Title: p.Issue.Title, Heard: c.Created}
	}
	n := m.about(p.Repository.Name, p.Issue.Number, "comment/"+strconv.FormatInt(c.ID, 10))
	n.comment(c)
	n.says, n.names = "mention", true
	return n, nil
}

func (n *news) comment(c *comment) {
	n.who, n.rank, n.text, n.url, n.at = c.User.Login, c.Association, c.Body, c.URL, c.Created
}

// ofCheck returns news of a check of any app except GitHub Actions, whose runs already report it.
func ofCheck(p *payload, m *memory) (*news, error) {
	c := p.Check
	if c == nil || c.ID <= 0 || c.Name == "" {
		return nil, lacks("check_run")
	}
	if p.Action != "completed" || c.App.Slug == "github-actions" {
		return nil, nil
	}
	n := m.ofPulls(p.Repository, c.Pulls, "check/"+strconv.FormatInt(c.ID, 10)+"/"+c.Conclusion)
	n.check, n.url, n.at = c.Name, c.URL, c.Completed
	n.text = strings.TrimSpace(c.Output.Title + "\n\n" + c.Output.Summary)
	return m.concluded(n, c.Conclusion), nil
}

func ofRun(p *payload, m *memory) (*news, error) {
	r := p.Run
	if r == nil || r.ID <= 0 || r.Name == "" {
		return nil, lacks("workflow_run")
	}
	if p.Action != "completed" {
		return nil, nil
	}
	n := m.ofPulls(p.Repository, r.Pulls, fmt.Sprintf("run/%d/%d", r.ID, r.Attempt))
	if n.branch = ""; strings.EqualFold(r.Head.Name, p.Repository.Name) {
		n.branch = r.Branch
		n.pull = cmp.Or(n.pull, m.onBranch(n.repo, n.branch))
	}
	n.check, n.url, n.at = r.Name, r.URL, r.Updated
	return m.concluded(n, r.Conclusion), nil
}

// checkKey distinguishes checks of one name by their branch or pull request; a branch name has no space.
func (n *news) checkKey() string {
	return strings.ToLower(n.repo) + " " + cmp.Or(n.branch, strconv.Itoa(n.pull)) + " " + n.check
}
