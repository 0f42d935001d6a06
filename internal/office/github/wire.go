package github

import "time"

// payload has the members in use of all events' payloads.
type payload struct {
	Action     string   `json:"action"`
	Repository repo     `json:"repository"`
	Pull       *pull    `json:"pull_request"`
	Issue      *pull    `json:"issue"`
	Review     *review  `json:"review"`
	Comment    *comment `json:"comment"`
	Check      *check   `json:"check_run"`
	Run        *run     `json:"workflow_run"`
}

type repo struct {
	ID   int64  `json:"id"`
	Name string `json:"full_name"`
}

type user struct {
	Login string `json:"login"`
}

// ref is a head. Repo is nil if the fork was deleted.
type ref struct {
	Ref  string `json:"ref"`
	Repo *repo  `json:"repo"`
}

// pull is a pull request or, in payload.Issue, an issue, which is a pull request if it has PullRequest.
type pull struct {
	Number      int       `json:"number"`
	Title       string    `json:"title"`
	User        user      `json:"user"`
	Head        ref       `json:"head"`
	Updated     time.Time `json:"updated_at"`
	PullRequest *struct{} `json:"pull_request"`
}

type review struct {
	ID          int64     `json:"id"`
	User        user      `json:"user"`
	Body        string    `json:"body"`
	State       string    `json:"state"` // upper case in the REST API
	URL         string    `json:"html_url"`
	Association string    `json:"author_association"`
	Submitted   time.Time `json:"submitted_at"`
}

// comment is a review comment on a line of the diff, or a comment in a conversation.
type comment struct {
	ID          int64     `json:"id"`
	User        user      `json:"user"`
	Body        string    `json:"body"`
	Path        string    `json:"path"`
	Line        int       `json:"line"`
	URL         string    `json:"html_url"`
	Association string    `json:"author_association"`
	Created     time.Time `json:"created_at"`
	Updated     time.Time `json:"updated_at"`
	PullURL     string    `json:"pull_request_url"` // of a review comment, in the REST API
}

// check is a check run of any app.
type check struct {
	ID         int64     `json:"id"`
	Name       string    `json:"name"`
	Conclusion string    `json:"conclusion"`
	URL        string    `json:"html_url"`
	Completed  time.Time `json:"completed_at"`
	Pulls      []pull    `json:"pull_requests"`
	Output     struct {
		Title   string `json:"title"`
		Summary string `json:"summary"`
	} `json:"output"`
	App struct {
		Slug string `json:"slug"`
	} `json:"app"`
}

// run is a workflow run of GitHub Actions.
type run struct {
	ID         int64     `json:"id"`
	Attempt    int       `json:"run_attempt"`
	Name       string    `json:"name"`
	Event      string    `json:"event"`
	Branch     string    `json:"head_branch"`
	Head       repo      `json:"head_repository"`
	Status     string    `json:"status"`
	Conclusion string    `json:"conclusion"`
	URL        string    `json:"html_url"`
	Updated    time.Time `json:"updated_at"`
	Pulls      []pull    `json:"pull_requests"`
}
