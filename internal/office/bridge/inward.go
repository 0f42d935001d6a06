package bridge

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// follow brings others' changes to the files into the room until ctx ends.
func (b *Bridge) follow(ctx context.Context) {
	w := newWatcher(b.log, b.look)
	defer w.close()
	b.catchUp(ctx)
	for {
		// The status reports errors, and the next look is soon. After news another look follows immediately, which
		// tells the files that the room has it.
		for more := true; more; {
			more = b.lookNow(ctx)
		}
		if b.hold(ctx) == nil {
			if b.open != nil {
				w.watch(b.open.Watch())
			}
			b.release()
		}
		if !w.dirty.Await(ctx, pollEvery) {
			return
		}
	}
}

// catchUp waits until the files have the room's earlier events, so that messages marked or erased while no bridge
// ran do not count as the files' news.
func (b *Bridge) catchUp(ctx context.Context) {
	behind := b.opts.Room.Shown()
	b.until(ctx, func(s *mail.BridgeStatus, failed int) bool {
		return s.Mode == mail.BridgeFollow || s.Seq >= behind || failed > 0
	})
}

// lookNow is inward with a number, so that Sync can tell which looks began after its call.
func (b *Bridge) lookNow(ctx context.Context) (more bool) {
	b.mu.Lock()
	b.looks++
	number := b.looks
	b.mu.Unlock()
	more, err := b.inward(ctx)
	b.change(func(*mail.BridgeStatus) { b.looked, b.unseen = number, err != nil })
	return more
}

// inward reads the news of the files and brings it into the room. more reports whether there was any.
func (b *Bridge) inward(ctx context.Context) (more bool, err error) {
	err = b.use(ctx, func(f dialect.Files) error {
		if b.news == nil {
			news, err := f.Read(ctx)
			if err != nil {
				return err
			}
			b.news = &news
		}
		b.working()
		refused, err := 0, error(nil)
		if b.opts.Bridge.Mode != mail.BridgeMirror {
			refused, err = b.tell(ctx, b.news)
		}
		if err != nil {
			return err // the files will not return it again: the next look retries it
		}
		b.change(func(s *mail.BridgeStatus) {
			b.refused += refused
			s.Rejected, s.Notice = b.news.Rejected+b.refused, b.news.Notice
		})
		var trouble error
		if b.news.Trouble != "" {
			trouble = errors.New(b.news.Trouble)
		}
		_ = b.outcome(ctx, part, trouble)
		more = !b.news.Empty()
		b.news = nil
		return nil
	})
	return more, b.outcome(ctx, in, err)
}

// atOnce is how many messages the room gets at a time. After each batch the bridge records its progress.
const atOnce = 500

// tell brings news into the room. It returns how many messages the room refused.
func (b *Bridge) tell(ctx context.Context, n *dialect.News) (refused int, err error) {
	if n.Empty() {
		return 0, nil
	}
	user := b.opts.Room.ForFiles()
	if err := b.tellAgents(ctx, user, n); err != nil {
		return 0, err
	}
	for i := range n.Items {
		n.Items[i].Via = b.opts.Bridge.ID
	}
	if refused, err = b.tellMail(ctx, user, n); err != nil {
		return refused, err
	}
	for _, name := range n.Retired {
		if err := user.Retire(ctx, name); err != nil && temporary(err) {
			return refused, err
		}
	}
	for _, id := range n.Erased {
		if err := user.Erase(ctx, id); err != nil && temporary(err) {
			return refused, err
		}
	}
	return refused, nil
}

// tellMail brings messages and read receipts into the room.
func (b *Bridge) tellMail(ctx context.Context, user mail.Service, n *dialect.News) (refused int, err error) {
	for some := range slices.Chunk(n.Items, atOnce) {
		more, err := b.take(ctx, user, some)
		if refused += more; err != nil {
			return refused, err
		}
		b.working()
	}
	for some := range slices.Chunk(n.Receipts, atOnce) {
		if _, err := b.opts.Room.Note(ctx, some); err != nil {
			return refused, err
		}
		b.working()
	}
	return refused, nil
}

// tellAgents brings changes to agents into the room.
func (b *Bridge) tellAgents(ctx context.Context, user mail.Service, n *dialect.News) error {
	for _, m := range n.Merged {
		if _, err := user.Merge(ctx, m.From, m.Into); err != nil && temporary(err) {
			return err
		} else if err != nil {
			b.log.Warn("agents not merged", "from", m.From, "into", m.Into, "err", err)
		}
	}
	for _, p := range n.Agents {
		if _, err := user.Register(ctx, p); err != nil && temporary(err) {
			return err
		} else if err != nil {
			b.log.Warn("agent not registered", "agent", p.Name, "err", err)
		}
		b.working()
	}
	return nil
}

// take imports messages. If the room refuses some, it halves the batch to import the others.
func (b *Bridge) take(ctx context.Context, user mail.Service, items []mail.Item) (refused int, err error) {
	if len(items) == 0 {
		return 0, nil
	}
	done, err := user.Import(ctx, items)
	switch {
	case err == nil:
		b.change(func(s *mail.BridgeStatus) { s.Imported += done.Added })
		return 0, nil
	case temporary(err):
		return 0, err
	case len(items) == 1:
		b.log.Warn("foreign message refused", "id", items[0].ID, "err", err)
		b.refuse(items[0].ID, err)
		return 1, nil
	}
	half := len(items) / 2
	for _, part := range [][]mail.Item{items[:half], items[half:]} {
		n, err := b.take(ctx, user, part)
		if refused += n; err != nil {
			return refused, err
		}
	}
	return refused, nil
}

// refuse records a message that the room refused.
func (b *Bridge) refuse(id mail.ID, why error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.refuses) < mail.MaxBadLines {
		b.refuses = append(b.refuses, dialect.BadLine("", 0, fmt.Errorf("the room refuses the message: %w", why),
			[]byte(id)))
	}
}

// temporary reports whether a retry may succeed.
func temporary(err error) bool {
	switch mail.CodeOf(err) {
	case mail.Unavailable, mail.Timeout, mail.Internal:
		return true
	}
	return false
}
