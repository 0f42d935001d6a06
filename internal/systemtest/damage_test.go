package systemtest

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pennypost/internal/mail"
)

// damaged is a post office whose journals are damaged, each room's in another way: each room opens by itself, so one
// start serves hundreds of damages.
type damaged struct {
	*office
	lines [][]byte // of the undamaged journal, with their ends
}

// newDamaged writes a journal and stops the post office. Its last two lines are one batch: a new agent and its
// message.
func newDamaged(t *testing.T) *damaged {
	t.Helper()
	o := newOffice(t)
	d := o.mustServe(t)
	o.must(t, "agents", "register", "builder", "--room", "origin")
	for i := range 4 {
		o.must(t, "send", "--room", "origin", "--to", "builder", "--subject", fmt.Sprint("Subject ", i), "--body",
			fmt.Sprintf("Body %d: \"quoted\" 小克\nline", i))
	}
	o.must(t, "send", "--room", "origin", "--as", "newcomer", "--to", "builder", "--body", "last")
	if err := d.terminate(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(o.home, "rooms", "origin", "mailbox.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.Collect(bytes.Lines(text))
	if n := len(lines); n != 7 || !bytes.Contains(lines[n-2], []byte(`"agent":{"name":"newcomer"`)) {
		t.Fatalf("the journal has not the lines that this test is made for:\n%s", text)
	}
	return &damaged{o, lines}
}

// write makes a room with a journal of these bytes.
func (d *damaged) write(t *testing.T, room string, text []byte) {
	t.Helper()
	dir := filepath.Join(d.home, "rooms", room)
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "mailbox.jsonl"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// ids returns the ids of the messages in these lines.
func ids(t *testing.T, lines [][]byte) (out []mail.ID) {
	t.Helper()
	for _, l := range lines {
		if e := decode[mail.Event](t, l); e.Message != nil {
			out = append(out, e.Message.ID)
		}
	}
	return out
}

// there returns the messages of a room, except the post office's own notices to the person about the damage.
func there(t *testing.T, door *door, room string) (out []mail.ID) {
	t.Helper()
	for _, it := range fetch[mail.Page](t, door, http.StatusOK, http.MethodGet, "/api/v1/rooms/"+room+"/messages",
		"").Messages {
		if it.From != mail.FromSystem {
			out = append(out, it.ID)
		}
	}
	return out
}

// sendInto sends a message and returns its id.
func sendInto(t *testing.T, door *door, room string) mail.ID {
	t.Helper()
	return fetch[mail.Sent](t, door, http.StatusCreated, http.MethodPost, "/api/v1/rooms/"+room+"/messages",
		`{"to":"builder","body":"after the damage"}`).ID
}

// TestCutAtEveryByte cuts the journal at every byte of its last batch. Complete lines survive, the next send works,
// and both are still there after another start.
func TestCutAtEveryByte(t *testing.T) {
	t.Parallel()
	d := newDamaged(t)
	text := bytes.Join(d.lines, nil)
	from := len(text) - len(d.lines[5]) - len(d.lines[6])
	for cut := from; cut <= len(text); cut++ {
		d.write(t, cutRoom(cut), text[:cut])
	}
	post, door := d.mustServe(t), d.socket("")
	want := make(map[string][]mail.ID)
	for cut := from; cut <= len(text); cut++ {
		room := cutRoom(cut)
		whole := wholeLines(d.lines, cut)
		got := there(t, door, room)
		// A line that lacks only its end was not acknowledged, and may stay or go.
		if w := ids(t, d.lines[:whole]); !slices.Equal(got, w) &&
			!(cut == len(text)-1 && slices.Equal(got, ids(t, d.lines))) {
			t.Errorf("cut at %d of %d, in line %d: messages %v, want %v", cut, len(text), whole+1, got, w)
		}
		want[room] = append(got, sendInto(t, door, room))
	}
	if err := post.terminate(); err != nil {
		t.Fatal(err)
	}
	d.mustServe(t)
	for room, w := range want {
		if got := there(t, d.socket(""), room); !slices.Equal(got, w) {
			t.Errorf("%s after another start: messages %v, want %v", room, got, w)
		}
		if st := fetch[mail.RoomStatus](t, d.socket(""), http.StatusOK, http.MethodGet, "/api/v1/rooms/"+room,
			""); st.Rejected != 0 {
			t.Errorf("%s: what was torn is still there, as a line that cannot be read", room)
		}
	}
}

func cutRoom(cut int) string { return fmt.Sprintf("cut-%05d", cut) }

// wholeLines returns how many lines are before cut, ends included.
func wholeLines(lines [][]byte, cut int) (n int) {
	for n < len(lines) && cut >= len(lines[n]) {
		cut -= len(lines[n])
		n++
	}
	return n
}

// TestFlippedBit flips one bit in a line in the middle: at each of its bytes in its own room. The room opens with
// the rest, verify names the line, and the line is preserved byte for byte.
func TestFlippedBit(t *testing.T) {
	t.Parallel()
	d := newDamaged(t)
	const bad = 3
	flipped := make(map[string][]byte)
	for at := range len(d.lines[bad]) - 1 {
		lines := slices.Clone(d.lines)
		lines[bad] = bytes.Clone(lines[bad])
		lines[bad][at] ^= 1 << (at % 8)
		room := fmt.Sprintf("flip-%05d", at)
		flipped[room] = lines[bad]
		d.write(t, room, bytes.Join(lines, nil))
	}
	d.mustServe(t)
	door := d.socket("")
	rest := ids(t, slices.Delete(slices.Clone(d.lines), bad, bad+1))
	for room, line := range flipped {
		if got := there(t, door, room); !slices.Equal(got, rest) {
			t.Errorf("%s: messages %v, want %v", room, got, rest)
			continue
		}
		sent := sendInto(t, door, room)
		if got := there(t, door, room); !slices.Equal(got, append(slices.Clone(rest), sent)) {
			t.Errorf("%s after another message: %v", room, got)
		}
		v := fetch[mail.Verification](t, door, http.StatusOK, http.MethodPost, "/api/v1/rooms/"+room+"/verify", "")
		var shown []byte
		for _, p := range v.Problems {
			if p.First == 0 { // a missing event has no line
				shown = append(shown, d.line(t, room, p)...)
			}
		}
		if !bytes.Equal(shown, line) {
			t.Errorf("%s: verify shows %+v, where %q stands instead of %q", room, v.Problems, shown, line)
		}
	}
	for room := range flipped {
		r := d.run("verify", "--room", room)
		if r.code != 1 || !strings.Contains(r.stdout, "jsonl:1: ") || !strings.Contains(r.stdout, "problem") {
			t.Errorf("pennypost verify: %+v, want exit 1 and a file with a line", r)
		}
		break // they are all alike
	}
	if r := d.run("verify", "--room", "origin"); r.code != 0 {
		t.Errorf("pennypost verify of an undamaged room: %+v", r)
	}
}

// line returns the line that verify reports.
func (d *damaged) line(t *testing.T, room string, p mail.Problem) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(d.home, "rooms", room, p.File))
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.Collect(bytes.Lines(text))
	if p.Line < 1 || p.Line > len(lines) {
		t.Fatalf("%s has %d lines, and verify complains of line %d", p.File, len(lines), p.Line)
	}
	return lines[p.Line-1]
}
