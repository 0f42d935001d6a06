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

// news is something that happened on GitHub.
type news struct {
	id     string // what makes it the same, however often and by whichever way it comes
	repo   string
	pull   int    // 0: none is known
	branch string // of the repository itself; "": a fork's, or none is known
	who    string // the author's login; "": a check
	rank   string // the author's association
	says   string // what happened, in a few words
	text   string // the author's own
	url    string
	at     time.Time

	verdict string // of a review
	names   bool   // it counts only if it mentions an agent, or who opened the pull request
	check   string // the name of the check
	failed  bool   // of a check
}

// own reports whether it may reach an agent.
func (n *news) own() bool {
	if n.check != "" {
		return n.branch != ""
	}
	return slices.Contains([]string{"OWNER", "MEMBER", "COLLABORATOR"}, n.rank)
}

// reader makes news of a payload, and notes in memory what it says besides; nil: nothing is news.
type reader func(*payload, *memory) (*news, error)

// readers are by the events that a webhook may send. A ping says nothing.
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
	return mail.Errorf(mail.Invalid, "the delivery has no %s that could be read; nothing was stored", member)
}

// of begins the news of a pull request that the payload has.
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
	default: // its comments come by themselves
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

// reviewComment makes news of a comment of a review of a pull request that is known.
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
	if _, ok := m.Pulls[key]; !ok { // GitHub does not say of which branch it is
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

// ofCheck makes news of a check of any app but GitHub Actions, whose runs say it already.
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

// checkKey tells checks of one name apart by what they are about: no branch has a blank in its name.
func (n *news) checkKey() string {
	return strings.ToLower(n.repo) + " " + cmp.Or(n.branch, strconv.Itoa(n.pull)) + " " + n.check
}
