package jsonl

import (
	"context"
	"fmt"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
)

// refusal remembers appends that a full disk refused, so that the person is told once, when there is space again.
type refusal struct {
	since   time.Time
	appends int
	err     error
}

// refuse returns the error for the senders of a batch that found no space. The file holds nothing of the batch, so the
// next one may try.
func (j *Journal) refuse(err error) error {
	if j.refused == nil {
		j.refused = &refusal{since: time.Now()}
		j.log.Error("the disk takes no more; the journal tries again at each append", "err", err)
	}
	j.refused.appends++
	j.refused.err = err
	return &mail.Error{
		Code: mail.Unavailable,
		Msg: fmt.Sprintf("the disk takes no more (%v). Nothing of this was stored; all that was acknowledged is. "+
			"Make room on the disk, then try again: nothing has to be restarted", err),
		Err: err,
	}
}

// accepted notes that the disk has taken a batch.
func (j *Journal) accepted() {
	if r := j.refused; r != nil {
		j.refused = nil
		j.tell("The disk is taking mail again",
			fmt.Sprintf("From %s until now the disk took nothing (%v). %d attempts to store something "+
				"were refused, and whoever made them was told. Nothing that was acknowledged is lost.", stamp(r.since),
				r.err, r.appends))
	}
}

// poison stops all writing until the journal has been rewritten, and returns the error for senders until then.
func (j *Journal) poison(err error) error {
	j.log.Error("the journal cannot be written; nothing is taken until it has been written anew", "err", err)
	j.stir()
	j.mu.Lock()
	defer j.mu.Unlock()
	hint := "Look at the disk: the mailbox is taken up again by itself as soon as it can be written"
	if j.shared {
		hint = "Stop the other process, then restart this post office: pennypost stop"
	}
	if j.broken == nil {
		j.brokenAt = time.Now()
	}
	j.broken = &mail.Error{
		Code: mail.Unavailable,
		Msg: fmt.Sprintf("the mailbox on disk cannot be written (%v). Nothing that was acknowledged is lost, but "+
			"nothing more is taken. %s",
			err, hint),
		Err: err,
	}
	return j.broken
}

func stamp(t time.Time) string { return t.UTC().Format(time.DateTime) + " UTC" }

// maxNews bounds the notices that wait for a call of News.
const maxNews = 100

// tell adds a notice for News, and logs it.
func (j *Journal) tell(subject, body string) {
	j.log.Warn(subject, "what", body)
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.news) < maxNews {
		j.news = append(j.news, journal.News{Subject: subject, Body: body})
	}
	if j.told != nil {
		close(j.told)
		j.told = nil
	}
}

// News implements journal.Verifier.
func (j *Journal) News(ctx context.Context) ([]journal.News, error) {
	for {
		j.mu.Lock()
		news := j.news
		j.news = nil
		if j.told == nil {
			j.told = make(chan struct{})
		}
		told := j.told
		j.mu.Unlock()
		if len(news) > 0 {
			return news, nil
		}
		select {
		case <-told:
		case <-j.closed:
			return nil, journal.ErrClosed
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
