package claudeteams

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
	"pennypost/internal/office/dialect/dialecttest"
)

// version is a line of a capture's index: a file's content from then on, or its removal.
type version struct {
	File string `json:"file"`
	As   string `json:"as_"` // the file that holds its text
	Gone string `json:"gone"`
}

// versions returns the changes to the files of a captured team, in order.
func versions(t *testing.T, dir string) (all []version) {
	t.Helper()
	index, err := os.ReadFile(filepath.Join(dir, "index.jsonl"))
	if err != nil {
		t.Skip(err)
	}
	for line := range strings.Lines(string(index)) {
		var v version
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

// taken is a message as TestReplay compares it.
type taken struct {
	ID       mail.ID
	From, To mail.Address
	Sent     mail.Time
}

// entriesOf returns the messages of a version of an inbox, or none for another file.
func entriesOf(t *testing.T, file string, text []byte) (all []taken) {
	t.Helper()
	owner, ok := strings.CutSuffix(filepath.Base(file), ".json")
	if !ok || filepath.Base(filepath.Dir(file)) != inboxDir || len(text) == 0 {
		return nil
	}
	var entries []struct {
		ID        mail.ID `json:"msg_id"`
		From      mail.Name
		Timestamp mail.Time
	}
	if err := json.Unmarshal(text, &entries); err != nil {
		t.Fatal(file, err)
	}
	for _, e := range entries {
		all = append(all, taken{e.ID, mail.AgentAddress(e.From), mail.AgentAddress(mail.Name(owner)), e.Timestamp})
	}
	return all
}

// TestReplay bridges a room to a real team through every version of every file: each message arrives once, with its
// sender and recipient, in the order of writing.
func TestReplay(t *testing.T) {
	captured := filepath.Join(fixtures(t), "2.1.330", "in-process")
	const team = "session-e11877e3"
	h := &hq{dialecttest.New(t, Dialect()), t}
	h.Dir = filepath.Join(h.Dir, "teams", team)
	var want []taken
	bridged := false
	for _, v := range versions(t, captured) {
		if v.Gone != "" && filepath.Base(v.Gone) != team && strings.Contains(v.Gone, "teams/"+team) {
			_, rest, _ := strings.Cut(v.Gone, team)
			if err := os.RemoveAll(filepath.Join(h.Dir, rest)); err != nil {
				t.Fatal(err)
			}
		}
		_, rest, ok := strings.Cut(v.File, "teams/"+team)
		if !ok || v.As == "" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(captured, v.As))
		if err != nil {
			t.Fatal(err)
		}
		h.write(filepath.Join(h.Dir, rest), string(text))
		for _, e := range entriesOf(t, rest, text) {
			if !slices.Contains(want, e) {
				want = append(want, e)
			}
		}
		if !bridged {
			h.Bridge(mail.BridgeBoth)
			bridged = true
		}
		if st := h.Sync(); st.Failing != "" || st.Rejected != 0 {
			t.Errorf("%s: failing %q, %d rejected: %s", v.As, st.Failing, st.Rejected, st.Notice)
		}
	}
	if len(want) < 75 {
		t.Fatalf("the capture has only %d messages", len(want))
	}
	history := h.History()
	var got []taken
	for _, it := range history {
		got = append(got, taken{it.ID, it.From, it.To[0], it.Sent})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-written +taken):\n%s", diff)
	}
	said := func(it mail.Item) bool {
		return it.Body == "researcher got outside mail" && it.Type == mail.Status
	}
	if !slices.ContainsFunc(history, said) {
		t.Error("the result of an idle notice is not shown")
	}
}
