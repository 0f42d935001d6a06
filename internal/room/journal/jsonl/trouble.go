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
		j.log.Error("disk refuses writes; the journal retries at each append", "err", err)
	}
	j.refused.appends++
	j.refused.err = err
	return &mail.Error{
		Code: mail.Unavailable,
		Msg: fmt.Sprintf("the disk cannot store more (%v). Nothing was stored; all acknowledged mail is safe. Free "+
			"space on the disk, then try again: no restart is needed", err),
		Err: err,
	}
}

// accepted notes that the disk has taken a batch.
func (j *Journal) accepted() {
	if r := j.refused; r != nil {
		j.refused = nil
		j.tell("The disk accepts mail again",
			fmt.Sprintf("From %s until now the disk could not store anything (%v). %d attempts were refused, and "+
				"their senders were told. No acknowledged mail was lost.", stamp(r.since),
				r.err, r.appends))
	}
}

// poison stops all writing until the journal has been rewritten, and returns the error for senders until then.
func (j *Journal) poison(err error) error {
	j.log.Error("journal not writable; mail is refused until it is rewritten", "err", err)
	j.stir()
	j.mu.Lock()
	defer j.mu.Unlock()
	hint := "Check the disk: the mailbox is used again as soon as it can be written"
	if j.shared {
		hint = "Stop the other process, then restart this post office: pennypost stop"
	}
	if j.broken == nil {
		j.brokenAt = time.Now()
	}
	j.broken = &mail.Error{
		Code: mail.Unavailable,
		Msg: fmt.Sprintf("the mailbox on disk cannot be written (%v). No acknowledged mail was lost, but no more "+
			"is accepted. %s",
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
