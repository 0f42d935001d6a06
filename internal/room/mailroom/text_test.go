package mailroom

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/fold/foldtest"
	"pennypost/internal/room/journal/journaltest"
	"pennypost/internal/room/journal/jsonl"
)

// openOnDisk opens a room in a directory, where texts are read from a file.
func openOnDisk(t *testing.T, dir string, opts Options) *Room {
	t.Helper()
	j, err := jsonl.Open(dir, jsonl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	room, err := Open(t.Context(), "lab", j, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { room.Close() })
	return room
}

// TestRecordsAreSmall weighs the memory of a room for messages that one agent has read.
func TestRecordsAreSmall(t *testing.T) {
	const n, most = 60_000, 350
	for _, key := range []string{"", "auto-%026d"} {
		dir := t.TempDir()
		j, err := jsonl.Open(dir, jsonl.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var batch []mail.Event
		for i := range n {
			m := &mail.Message{ID: mail.ID(fmt.Sprintf("msg_%021d", i)), Type: mail.Custom, From: "agent:s",
				To: []mail.Address{"agent:r0"}, Subject: "The parser", Body: benchBody}
			if key != "" {
				m.Key = fmt.Sprintf(key, i)
			}
			batch = append(batch, mail.Event{At: 1778421600000, Message: m}, mail.Event{At: 1778421600000,
				Receipt: &mail.Receipt{Message: m.ID, Reader: "agent:r0", Mark: mail.MarkRead}})
		}
		if _, err := j.Append(t.Context(), batch...); err != nil {
			t.Fatal(err)
		}
		j.Close()
		batch = nil
		before := heapSize()
		room := openOnDisk(t, dir, keepAll)
		got := (heapSize() - before) / n
		if t.Logf("key %q: %d bytes a message", key, got); got > most {
			t.Errorf("a message takes %d bytes, want at most %d", got, most)
		}
		room.Close()
	}
}

// TestTextsBesideCompaction reads a room in every way while messages move to the archive and are erased. Every
// message shown has its own text, and every message that was not erased is found.
func TestTextsBesideCompaction(t *testing.T) {
	opts := keepAll
	opts.Retention = policy.Retention{Age: -1, Count: 40}
	dir := t.TempDir()
	room := openOnDisk(t, dir, opts)
	user := room.As(mail.User)
	if _, err := user.Register(t.Context(), mail.Presence{Name: "ann"}); err != nil {
		t.Fatal(err)
	}
	const rounds, each = 25, 20
	ctx, stop := context.WithCancel(t.Context())
	var last, looks atomic.Int64
	var readers sync.WaitGroup
	for _, look := range []func() ([]mail.Item, error){
		func() ([]mail.Item, error) {
			page, err := room.As("ann").Inbox(t.Context(), mail.InboxQuery{Limit: 30})
			return page.Messages, err
		},
		func() ([]mail.Item, error) {
			page, err := user.History(t.Context(), mail.HistoryQuery{Archive: true, Limit: 100})
			return page.Messages, err
		},
		func() ([]mail.Item, error) {
			page, err := user.History(t.Context(), mail.HistoryQuery{Search: "text of", After: 1, Archive: true})
			return page.Messages, err
		},
		func() (items []mail.Item, err error) {
			sent, there := int(last.Load()), make(map[mail.ID]bool)
			for it, err := range user.Export(t.Context()) {
				if err != nil {
					return nil, err
				}
				items, there[it.ID] = append(items, it), true
			}
			for n := range sent {
				if id := mail.ID(fmt.Sprint("m", n)); n%each != 0 && !there[id] {
					return nil, fmt.Errorf("%s is not in the export", id)
				}
			}
			return items, nil
		},
		func() ([]mail.Item, error) {
			n := last.Load()
			if n == 0 {
				return nil, nil
			}
			it, err := user.Message(t.Context(), mail.ID(fmt.Sprint("m", n)))
			return []mail.Item{it}, err
		},
	} {
		readers.Go(func() {
			for ctx.Err() == nil && !t.Failed() {
				items, err := look()
				if err != nil {
					t.Error(err)
				}
				for _, it := range items {
					if it.Body != "text of "+string(it.ID) || it.Subject != string(it.ID) {
						t.Errorf("%s has the subject %q and the body %q", it.ID, it.Subject, it.Body)
					}
				}
				looks.Add(1)
			}
		})
	}
	for n := 0; n < rounds*each && !t.Failed(); n += each {
		var items []mail.Item
		for i := range each {
			id := mail.ID(fmt.Sprint("m", n+i))
			items = append(items, mail.Item{Message: mail.Message{ID: id, From: "agent:bob", Sent: room.now(),
				To: []mail.Address{"agent:ann"}, Subject: string(id), Body: "text of " + string(id)}})
		}
		if _, err := user.Import(t.Context(), items); err != nil {
			t.Fatal(err)
		}
		last.Store(int64(n + 1)) // the first of each is erased
		if _, err := user.Archive(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := user.Erase(t.Context(), items[0].ID); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	readers.Wait()
	for n := range rounds * each {
		it, err := user.Message(t.Context(), mail.ID(fmt.Sprint("m", n)))
		if gone := n%each == 0; gone != (mail.CodeOf(err) == mail.NotFound) || !gone &&
			it.Body != "text of "+string(it.ID) {
			t.Errorf("m%d: %q, %v", n, it.Body, err)
		}
	}
	t.Logf("%d looks", looks.Load())
	now := room.now()
	live := foldtest.Dump(room.state, now)
	room.Close()
	if diff := cmp.Diff(live, foldtest.Dump(openOnDisk(t, dir, opts).state, now)); diff != "" {
		t.Errorf("the room opened again differs (-live +opened again):\n%s", diff)
	}
}

// A text that the disk has lost is said to be lost. Nothing else is: not the message, and not its neighbours.
func TestUnreadableText(t *testing.T) {
	dir := t.TempDir()
	room := openOnDisk(t, dir, Options{})
	for _, body := range []string{"before", "LOST", "behind"} {
		if _, err := room.As("ann").Send(t.Context(),
			mail.Draft{To: mail.Recipients{"user"}, Body: body}); err != nil {
			t.Fatal(err)
		}
	}
	room.Close()
	room = openOnDisk(t, dir, Options{})
	path := filepath.Join(dir, "mailbox.jsonl")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte("?"), int64(bytes.Index(text, []byte("LOST")))); err != nil {
		t.Fatal(err)
	}
	page, err := room.As(mail.User).Inbox(t.Context(), mail.InboxQuery{})
	if err != nil || len(page.Messages) != 3 {
		t.Fatalf("Inbox = %+v, %v", page, err)
	}
	if got := page.Messages; got[0].Body != "before" || got[2].Body != "behind" || got[1].From != "agent:ann" ||
		!strings.Contains(got[1].Body, "no longer be read") {
		t.Errorf("the inbox shows %+v", got)
	}
}

// Archived messages have the times at which they were sent, even if the journal has only the time of the event.
func TestArchiveByTime(t *testing.T) {
	room, _ := openRoom(t, "lab", Options{Retention: policy.Retention{Count: 1}})
	user := room.As(mail.User)
	since := room.now()
	for i := range 3 {
		if _, err := user.Send(t.Context(), mail.Draft{To: mail.Recipients{"all"}, Body: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := user.Archive(t.Context()); err != nil {
		t.Fatal(err)
	}
	page, err := user.History(t.Context(), mail.HistoryQuery{Archive: true, Since: since})
	if err != nil || len(page.Messages) != 3 {
		t.Errorf("%d messages were sent since then, %v, want 3", len(page.Messages), err)
	}
}

// interrupted is a journal to which something happens between a look at the state and the reading of texts.
type interrupted struct {
	*journaltest.Memory
	meanwhile func()
}

func (j *interrupted) Read(ctx context.Context, places ...mail.Seq) ([]mail.Event, error) {
	if happens := j.meanwhile; happens != nil {
		j.meanwhile = nil
		happens()
	}
	return j.Memory.Read(ctx, places...)
}

// A page is of the moment at which it was made, wherever its messages move then; but it does not show erased ones.
func TestTextsThatMove(t *testing.T) {
	j := &interrupted{Memory: inMemory(t).memory.Open()}
	room, err := Open(t.Context(), "lab", j, Options{Retention: policy.Retention{Count: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer room.Close()
	user := room.As(mail.User)
	var ids []mail.ID
	for _, body := range []string{"one", "two", "three"} {
		sent, err := room.As("ann").Send(t.Context(), mail.Draft{To: mail.Recipients{"user"}, Body: body})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, sent.ID)
	}
	bodies := func() (out []string) {
		page, err := user.Inbox(t.Context(), mail.InboxQuery{})
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range page.Messages {
			out = append(out, it.Body)
		}
		return out
	}
	j.meanwhile = func() {
		if err := user.Erase(t.Context(), ids[1]); err != nil {
			t.Error(err)
		}
	}
	if got := bodies(); !slices.Equal(got, []string{"one", "three"}) {
		t.Errorf("while the second was erased, the inbox had %q", got)
	}
	j.meanwhile = func() {
		if told, err := user.Archive(t.Context()); err != nil || told.Kept != 1 {
			t.Errorf("Archive = %+v, %v", told, err)
		}
	}
	if got := bodies(); !slices.Equal(got, []string{"one", "three"}) {
		t.Errorf("while the first was archived, the inbox had %q", got)
	}
	if got := bodies(); !slices.Equal(got, []string{"three"}) {
		t.Errorf("then, the inbox had %q", got)
	}
}

// A message erased between a look and the reading of texts is left out, of the stuck too, and with it a group that
// had no other; and an id may be requested twice.
func TestErasedMeanwhile(t *testing.T) {
	j := &interrupted{Memory: inMemory(t).memory.Open()}
	room, err := Open(t.Context(), "lab", j, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer room.Close()
	user := room.As(mail.User)
	send := func(to string) mail.ID {
		sent, err := user.Send(t.Context(), mail.Draft{To: mail.Recipients{to}, Body: "to " + to})
		if err != nil {
			t.Fatal(err)
		}
		j.meanwhile = func() {
			if err := user.Erase(t.Context(), sent.ID); err != nil {
				t.Error(err)
			}
		}
		return sent.ID
	}
	send("role:nobody")
	if list, err := user.Stuck(t.Context(), mail.StuckQuery{}); err != nil || len(list.Groups) > 0 {
		t.Errorf("while all that was stuck was erased: %+v, %v", list.Groups, err)
	}
	id := send("role:nobody")
	if err := room.letGo(t.Context(), []mail.ID{id}, room.now(), math.MaxUint64, false); err != nil {
		t.Fatal(err)
	}
	if found, err := room.lookUp(t.Context(), id, id); err != nil || len(found) > 0 {
		t.Errorf("on its way to the archive it was erased, and found: %+v, %v", found, err)
	}
}
