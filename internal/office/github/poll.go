package github

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"pennypost/internal/base/child"
	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/pause"
	"pennypost/internal/mail"
)

// Limits of polling.
const (
	pageSize  = 100     // GitHub's maximum
	maxPages  = 10      // of a list, each time
	maxAnswer = 8 << 20 // bytes of a page
	askTime   = time.Minute
)

// Run polls with gh, for the rooms configured so, until ctx ends.
func (f *Face) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, k := range f.rooms {
		if k.conf.Poll > 0 {
			running.Go(func() { k.poll(ctx) })
		}
	}
	running.Wait()
}

func (k *desk) poll(ctx context.Context) {
	for {
		for _, repo := range k.conf.Repos {
			if err := k.ask(ctx, repo); err != nil && ctx.Err() == nil {
				k.opts.Log.Warn("GitHub poll incomplete; the next poll continues", "room", k.room,
					"repo", repo, "err", err)
			}
		}
		if !pause.For(ctx, time.Duration(k.conf.Poll)) {
			return
		}
	}
}

// lists are a repository's lists in the order of reading: pull requests first, because they give the branches.
var lists = []struct {
	name string
	read func(*desk, context.Context, *memory, string, time.Time) (time.Time, error)
}{{"pulls", (*desk).askPulls}, {"review-comments", (*desk).askReviewComments}, {"comments", (*desk).askComments},
	{"runs", (*desk).askRuns}}

// ask reads a repository's news. A cursor moves only after all earlier mail was stored, to the time of the last item
// listed, by GitHub's clock; items listed again are recognised by id.
func (k *desk) ask(ctx context.Context, repo string) error {
	return k.with(ctx, func(m *memory) error {
		if m.Begun.IsZero() {
			m.Begun = time.Now().UTC().Truncate(time.Second)
		}
		for _, list := range lists {
			key := strings.ToLower(repo) + " " + list.name
			from := m.Cursor[key]
			if from.IsZero() {
				from = m.Begun
			}
			to, err := list.read(k, ctx, m, repo, from)
			if to.After(from) {
				from = to
			}
			m.Cursor[key] = from
			if err := errors.Join(err, m.save()); err != nil {
				return err // later lists need the missing pull requests
			}
		}
		return nil
	})
}

// get reads a page of the REST API.
func (k *desk) get(ctx context.Context, path string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, cmp.Or(k.conf.Program, "gh"), "api", "--method", "GET", "-H",
		"Accept: application/vnd.github+json", "-H", "X-GitHub-Api-Version: 2022-11-28", path)
	out := &bounded{left: maxAnswer}
	var said child.Tail
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out, &said, child.DrainTime
	child.OwnGroup(cmd)
	if err := child.Explain(ctx, cmd.Run(), askTime, said.Text()); err != nil {
		return fmt.Errorf("gh api %s %w", path, err)
	}
	if err := jsonx.Unmarshal(out.text.Bytes(), into); err != nil {
		return fmt.Errorf("invalid answer from gh api %s: %s", path, jsonx.Explain(err))
	}
	return nil
}

// bounded is a buffer with a size limit.
type bounded struct {
	text bytes.Buffer
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, io.ErrShortBuffer
	}
	return b.text.Write(p)
}

// pages calls each with the elements of a list until it ends or each returns false.
func pages[T any](ctx context.Context, k *desk, path string, each func(*T) (more bool, err error)) error {
	for page := 1; page <= maxPages; page++ {
		var list []T
		if err := k.get(ctx, fmt.Sprintf("%sper_page=%d&page=%d", path, pageSize, page), &list); err != nil {
			return err
		}
		for i := range list {
			if more, err := each(&list[i]); err != nil || !more {
				return err
			}
		}
		if len(list) < pageSize {
			return nil
		}
	}
	return nil
}

// listed turns a listed item into mail. An error in the item itself is only logged, because it would recur.
func (k *desk) listed(ctx context.Context, m *memory, p *payload, read reader) error {
	err := k.take(ctx, m, p, read)
	switch mail.CodeOf(err) {
	case mail.Invalid, mail.TooLarge:
		k.opts.Log.Warn("GitHub event not delivered", "room", k.room, "repo", p.Repository.Name, "err", err)
		return nil
	}
	return err
}

// askPulls learns of changed pull requests and reads their reviews. The list begins with the latest, so the cursor
// moves only after all were read.
func (k *desk) askPulls(ctx context.Context, m *memory, name string, from time.Time) (to time.Time, err error) {
	var changed []pull
	path := "repos/" + name + "/pulls?state=all&sort=updated&direction=desc&"
	err = pages(ctx, k, path, func(p *pull) (bool, error) {
		if p.Updated.Before(from) {
			return false, nil
		}
		changed = append(changed, *p)
		return true, nil
	})
	if err != nil {
		return to, err
	}
	for _, p := range slices.Backward(changed) { // earliest first
		path := fmt.Sprintf("repos/%s/pulls/%d/reviews?", name, p.Number)
		err := pages(ctx, k, path, func(r *review) (bool, error) {
			if r.Submitted.Before(m.Begun) {
				return true, nil
			}
			said := payload{Action: "submitted", Repository: repo{Name: name}, Pull: &p, Review: r}
			return true, k.listed(ctx, m, &said, ofReview)
		})
		if err != nil {
			return to, err
		}
		if err := m.learn(repo{Name: name}, &p); err != nil {
			return to, err
		}
		to = p.Updated
	}
	return to, nil
}

// askReviewComments reads comments on lines of diffs, earliest first.
func (k *desk) askReviewComments(ctx context.Context, m *memory, name string, from time.Time) (time.Time, error) {
	return k.askAll(ctx, m, "repos/"+name+"/pulls/comments", from, func(c *comment) (*payload, reader) {
		number := atoi(c.PullURL[strings.LastIndexByte(c.PullURL, '/')+1:])
		return &payload{Repository: repo{Name: name}, Comment: c}, func(p *payload, m *memory) (*news, error) {
			return m.reviewComment(name, number, c), nil
		}
	})
}

// askComments reads comments of conversations. Only those whose link is to a pull request belong to one.
func (k *desk) askComments(ctx context.Context, m *memory, name string, from time.Time) (time.Time, error) {
	return k.askAll(ctx, m, "repos/"+name+"/issues/comments", from, func(c *comment) (*payload, reader) {
		issue := &pull{Number: pullOf(c.URL)}
		if issue.Number > 0 {
			issue.PullRequest = &struct{}{}
		} else {
			issue.Number = 1
		}
		return &payload{Action: "created", Repository: repo{Name: name}, Comment: c, Issue: issue}, ofComment
	})
}

// pullOf returns the pull request number in a comment's link, https://github.com/OWNER/NAME/pull/12#issuecomment-1,
// or 0 for an issue's.
func pullOf(url string) int {
	_, rest, _ := strings.Cut(url, "/pull/")
	number, _, _ := strings.Cut(rest, "#")
	return atoi(number)
}

// askAll reads a list of comments changed since from.
func (k *desk) askAll(ctx context.Context, m *memory, path string, from time.Time,
	of func(*comment) (*payload, reader)) (to time.Time, err error) {
	path += "?sort=updated&direction=asc&since=" + from.UTC().Format(time.RFC3339) + "&"
	err = pages(ctx, k, path, func(c *comment) (bool, error) {
		if !c.Created.Before(m.Begun) { // otherwise an old one was edited
			p, read := of(c)
			if err := k.listed(ctx, m, p, read); err != nil {
				return false, err
			}
		}
		to = c.Updated
		return true, nil
	})
	return to, err
}

// askRuns reads finished workflow runs, earliest first. The list is ordered by start time, so a long run may be on a
// late page or missed.
func (k *desk) askRuns(ctx context.Context, m *memory, name string, from time.Time) (to time.Time, err error) {
	var ended []run
	for page := 1; page <= 3; page++ {
		var list struct {
			Runs []run `json:"workflow_runs"`
		}
		path := fmt.Sprintf("repos/%s/actions/runs?status=completed&per_page=%d&page=%d", name, pageSize, page)
		if err := k.get(ctx, path, &list); err != nil {
			return to, err
		}
		ended = append(ended, list.Runs...)
		if len(list.Runs) < pageSize || list.Runs[len(list.Runs)-1].Updated.Before(from) {
			break
		}
	}
	slices.SortStableFunc(ended, func(a, b run) int { return a.Updated.Compare(b.Updated) })
	for i := range ended {
		r := &ended[i]
		if r.Updated.Before(from) {
			continue
		}
		said := payload{Action: "completed", Repository: repo{Name: name}, Run: r}
		if err := k.listed(ctx, m, &said, ofRun); err != nil {
			return to, err
		}
		to = r.Updated
	}
	return to, nil
}
