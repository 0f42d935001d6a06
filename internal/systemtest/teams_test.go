package systemtest

import (
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// fixtures is the directory of the captured material: outside the repository, because it is not ours to publish.
const fixtures = "../../../shared/fixtures"

// fixture returns a directory of captured material, and skips the test without it.
func fixture(t *testing.T, elements ...string) string {
	t.Helper()
	path := filepath.Join(append([]string{fixtures}, elements...)...)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%s is not there", path)
	}
	return path
}

// entry is a message as Claude Code's agent teams keep it in a recipient's file.
type entry struct {
	From      string    `json:"from"`
	Text      string    `json:"text"`
	Summary   string    `json:"summary"`
	Timestamp time.Time `json:"timestamp"`
}

// team is the captured part of one team: each member's file, in its order.
type team struct {
	name  string
	inbox map[string][]entry
}

// join makes sure that a member has an inbox, even an empty one.
func (tm *team) join(name string) {
	if _, ok := tm.inbox[name]; !ok {
		tm.inbox[name] = nil
	}
}

// members returns all names that occur, sorted.
func (tm *team) members() []string { return slices.Sorted(maps.Keys(tm.inbox)) }

// loadTeams reads a directory of teams in either of the known layouts: TEAM/RECIPIENT.json with config-TEAM.json
// next to TEAM, or TEAM/inboxes/RECIPIENT.json with TEAM/config.json, at any depth. Files without messages are
// skipped and logged.
func loadTeams(t *testing.T, dir string) []*team {
	t.Helper()
	var teams []*team
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		path := filepath.Join(dir, e.Name())
		boxes, config := path, filepath.Join(dir, "config-"+e.Name()+".json")
		if _, err := os.Stat(filepath.Join(path, "inboxes")); err == nil {
			boxes, config = filepath.Join(path, "inboxes"), filepath.Join(path, "config.json")
		}
		tm := &team{name: e.Name(), inbox: make(map[string][]entry)}
		tm.readInboxes(t, boxes)
		if len(tm.inbox) == 0 {
			teams = append(teams, loadTeams(t, path)...)
			continue
		}
		tm.readConfig(t, config)
		teams = append(teams, tm)
	}
	return teams
}

func (tm *team) readInboxes(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		recipient := strings.TrimSuffix(filepath.Base(file), ".json")
		if recipient == "config" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var raw []json.RawMessage
		if err := json.Unmarshal(text, &raw); err != nil {
			t.Logf("%s is no list of messages and is left out: %v", file, err)
			continue
		}
		tm.join(recipient)
		for i, r := range raw {
			var e entry
			if err := json.Unmarshal(r, &e); err != nil || e.From == "" || e.Text == "" {
				t.Logf("%s: entry %d is no message and is left out: %s", file, i, r)
				continue
			}
			tm.inbox[recipient] = append(tm.inbox[recipient], e)
		}
	}
	for _, box := range slices.Collect(maps.Values(tm.inbox)) {
		for _, e := range box {
			tm.join(e.From) // a mere sender is a member too
		}
	}
}

// readConfig adds the members that neither wrote nor were written to.
func (tm *team) readConfig(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return
	}
	var config struct {
		Members []struct {
			Name string `json:"name"`
		} `json:"members"`
	}
	if err == nil {
		err = json.Unmarshal(text, &config)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	for _, m := range config.Members {
		if m.Name != "" {
			tm.join(m.Name)
		}
	}
}

// letter is an entry and its recipient.
type letter struct {
	to string
	entry
}

// letters returns the letters in the order in which they were sent: always the oldest of the files' next entries, so
// that each file's own order is kept even where its clock went back.
func (tm *team) letters() []letter {
	next := maps.Clone(tm.inbox)
	var out []letter
	for {
		var open []string
		for _, name := range tm.members() {
			if len(next[name]) > 0 {
				open = append(open, name)
			}
		}
		if len(open) == 0 {
			return out
		}
		oldest := slices.MinFunc(open, func(a, b string) int {
			return cmp.Or(next[a][0].Timestamp.Compare(next[b][0].Timestamp), cmp.Compare(a, b))
		})
		out = append(out, letter{oldest, next[oldest][0]})
		next[oldest] = next[oldest][1:]
	}
}
