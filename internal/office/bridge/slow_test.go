package bridge

import (
	"context"
	"strings"
	"testing"
	"time"

	"pennypost/internal/base/lines"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// slowFiles read with constant progress until enough is closed.
type slowFiles struct {
	noteFiles
	working func()
	enough  chan struct{}
}

func (f *slowFiles) Read(ctx context.Context) (dialect.News, error) {
	for {
		select {
		case <-f.enough:
			return f.noteFiles.Read(ctx)
		case <-time.After(50 * time.Millisecond):
			f.working()
		}
	}
}

// TestSlowIsNotHanging: a bridge with a long import does not fail, reports that it continues, and finishes.
func TestSlowIsNotHanging(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 15 seconds: ./test")
	}
	t.Parallel()
	kind, enough := notes(), make(chan struct{})
	kind.Files = func(o dialect.FilesOptions) (dialect.Files, error) {
		return &slowFiles{noteFiles: noteFiles{file: lines.Open(o.Dir, "notes", 0o600), has: make(map[string]bool)},
			working: o.Working, enough: enough}, nil
	}
	d := newDeskOf(t, kind)
	time.AfterFunc(3*syncPatience, func() { close(enough) })
	d.bridge(mail.BridgeBoth)
	st := d.sync()
	if st.Failing != "" || !strings.Contains(st.Notice, "continues by itself") {
		t.Errorf("while it is at work the status is %+v", st)
	}
	<-enough
	d.send("one")
	for range 100 {
		if st = d.sync(); st.Notice == "" && st.Behind == 0 {
			break
		}
	}
	if st.Failing != "" || st.Notice != "" || st.Behind != 0 {
		t.Errorf("in the end the status is %+v", st)
	}
	d.want("one")
}

// TestFirstCallersWait: the callers that open a room wait until its bridges have read the files, but not for long.
func TestFirstCallersWait(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		takes time.Duration
		reads bool
	}{{"slow", 300 * time.Millisecond, true}, {"hanging", 3 * firstPatience, false}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			kind, enough := notes(), make(chan struct{})
			d := newDeskOf(t, kind)
			d.bridge(mail.BridgeBoth)
			d.set.Close()
			d.write("x1 bob bob theirs\n")
			d.kind.Files = func(o dialect.FilesOptions) (dialect.Files, error) {
				return &slowFiles{noteFiles: noteFiles{file: lines.Open(o.Dir, "notes", 0o600),
					has: make(map[string]bool)}, working: o.Working, enough: enough}, nil
			}
			time.AfterFunc(c.takes, func() { close(enough) })
			began := time.Now()
			d.start()
			d.set.AwaitLooks(t.Context())
			if got := len(d.inbox()) > 0; got != c.reads {
				t.Errorf("after %v the mail in the files is there: %v, want %v", time.Since(began), got, c.reads)
			}
			<-enough
		})
	}
}
