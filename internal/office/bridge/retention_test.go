package bridge

import (
	"context"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"pennypost/internal/base/lines"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
	"pennypost/internal/policy"
)

// archive runs retention and returns the messages left in the room.
func (d *desk) archive() string {
	d.Helper()
	user := d.room.As(mail.User)
	if _, err := user.Archive(d.Context()); err != nil {
		d.Fatal(err)
	}
	page, err := user.History(d.Context(), mail.HistoryQuery{})
	if err != nil {
		d.Fatal(err)
	}
	var out []string
	for _, it := range page.Messages {
		out = append(out, it.Body)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func (d *desk) wantHot(when, want string) {
	d.Helper()
	if got := d.archive(); got != want {
		d.Errorf("%s the room has %q at hand, want %q", when, got, want)
	}
}

// TestUnwrittenIsKept: events that a failing bridge has not written yet are not archived before it has, whatever the
// retention, even after a restart of the post office; removing the bridge ends this.
func TestUnwrittenIsKept(t *testing.T) {
	d := newDeskThat(t, notes(), policy.Retention{Count: 1})
	d.bridge(mail.BridgeBoth)
	d.send("0")
	d.send("1")
	d.wantHot("with files in step", "1")
	if err := os.Rename(d.dir, d.dir+".away"); err != nil {
		t.Fatal(err)
	}
	for d.set.Statuses()[0].Failing == "" {
		d.sync()
	}
	for _, body := range []string{"2", "3", "4"} {
		d.send(body)
	}
	d.wantHot("with files away", "2 3 4")
	d.set.Close()
	d.wantHot("while no bridge runs", "2 3 4")
	d.start()
	d.wantHot("started again", "2 3 4")
	if err := os.Rename(d.dir+".away", d.dir); err != nil {
		t.Fatal(err)
	}
	for d.set.Statuses()[0].Behind > 0 {
		d.sync()
	}
	d.want("0 1 2 3 4")
	d.wantHot("with the files back", "4")

	t.Run("a bridge that only follows", func(t *testing.T) {
		d.bridge(mail.BridgeFollow)
		d.send("5")
		d.wantHot("", "5")
	})
	t.Run("a bridge that is removed", func(t *testing.T) {
		d.bridge(mail.BridgeBoth)
		if err := os.Rename(d.dir, d.dir+".away"); err != nil {
			t.Fatal(err)
		}
		for d.set.Statuses()[0].Failing == "" {
			d.sync()
		}
		d.send("6")
		d.send("7")
		d.wantHot("", "6 7")
		if err := d.room.As(mail.User).RemoveBridge(t.Context(), "notes"); err != nil {
			t.Fatal(err)
		}
		d.reconcile()
		d.wantHot("", "7")
	})
}

// owing is noteFiles that owe the first message with "bad" until the test resets first.
type owing struct {
	noteFiles
	first *mail.Seq
}

func (f *owing) Owes() mail.Seq { return *f.first }

func (f *owing) Write(ctx context.Context, changes []dialect.Change) (int, error) {
	for _, c := range changes {
		if c.Message != nil && c.Message.Body == "bad" && *f.first == 0 {
			*f.first = c.Seq
		}
	}
	return f.noteFiles.Write(ctx, changes)
}

// TestOwedIsKept: the same applies to events that only a part of the files lacks, and to those after them.
func TestOwedIsKept(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds: ./test")
	}
	t.Parallel()
	kind, first := notes(), mail.Seq(0)
	kind.Files = func(o dialect.FilesOptions) (dialect.Files, error) {
		return &owing{noteFiles{file: lines.Open(o.Dir, "notes", 0o600), has: make(map[string]bool)},
			&first}, nil
	}
	d := newDeskThat(t, kind, policy.Retention{Count: 1})
	d.bridge(mail.BridgeBoth)
	for _, body := range []string{"0", "bad", "2"} {
		d.send(body)
	}
	d.wantHot("with a message owed", "2 bad")
	d.set.Close()
	if got := New(Options{Bridge: mail.Bridge{ID: "notes"}, State: d.ours + "/notes"}).Written(); got != first-1 {
		t.Errorf("a new bridge says that everything up to %d is written, want %d", got, first-1)
	}
	first = 0
	d.start()
	d.sync()
	d.wantHot("with the message paid", "2")
	if got := d.set.Written(); got == math.MaxUint64 || got < d.room.Shown() {
		t.Errorf("everything up to %d is written, want %d", got, d.room.Shown())
	}
}
