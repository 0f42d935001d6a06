package claudeteams

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pennypost/internal/office/dialect/dialecttest"
)

// tree writes files below a new directory.
func (h *hq) tree(files map[string]string) (dir string) {
	dir = h.t.TempDir()
	for path, text := range files {
		h.write(filepath.Join(dir, path), text)
	}
	return dir
}

// captured returns the text of an inbox with one message.
func captured(text string) string {
	e := entry{From: "reader", Text: text, Timestamp: at(1)}
	return string(neatArray([][]byte{e.neat()}))
}

const twoMembers = `{"leadAgentId":"team-lead@NAME","name":"NAME","members":[{"name":"team-lead",` +
	`"agentId":"team-lead@NAME"},{"name":"reader"}]}`

func configFor(name string) string { return strings.ReplaceAll(twoMembers, "NAME", name) }

// TestImportTree: the import finds every team of a tree, in any layout, and reports each skipped file in one line.
func TestImportTree(t *testing.T) {
	h := newHQ(t, "alpha")
	broken := captured("torn")[:30]
	dir := h.tree(map[string]string{
		".claude/teams/live/config.json":                configFor("live"),
		".claude/teams/live/inboxes/team-lead.json":     captured("of live"),
		".claude/teams/live/inboxes/reader.json":        "[]",
		".claude/teams/live/inboxes/config-x.json":      captured("of one called config-x"),
		".claude/teams/live/inboxes/.reader.json.1.tmp": broken,
		".claude/teams/bare/inboxes/team-lead.json":     captured("of bare"), // no config.json
		".claude/teams/bare/inboxes/torn.json":          broken,
		".claude/tasks/live/1.json":                     `{"id":"1","subject":"Review"}`,
		"raw/inboxes/humble-goose/team-lead.json":       captured("of humble-goose"),
		"raw/inboxes/moonlit/team-lead.json":            captured("of moonlit"),
		"raw/team/config-humble-goose.json":             configFor("humble-goose"),
		"raw/team/config-silent.json":                   configFor("silent"), // and no inbox
		"raw/team/config-of-an-editor.json":             `{"theme":"dark"}`,
		"old/raw/inboxes/humble-goose/team-lead.json":   captured("of humble-goose, before"),
		"old/raw/team/config-humble-goose.json":         configFor("humble-goose"),
		"loose.json":                                    captured("loose"),
		"numbers.json":                                  "[1,2,3]",
		"empty.json":                                    "[]",
		"flat/config.json":                              configFor("flat"),
		"flat/team-lead.json":                           captured("of flat"),
		"flat/config-not.json":                          "[{",
		"node_modules/thing/config.json":                `{"loglevel":3}`,
		".claude/teams/mixed/inboxes/team-lead.json": `[{"from":"reader","text":"of mixed","timestamp":"` + at(1) +
			`"},7,{"from":"a"}]`,
		".claude/teams/mixed/inboxes/deep/config.json":   configFor("deep"),
		".claude/teams/mixed/inboxes/deep/nobody-x.json": captured("of deep"),
	})
	if err := os.Symlink(filepath.Join(dir, "flat"), filepath.Join(dir, "linked")); err != nil {
		t.Fatal(err)
	}
	out, skipped, err := h.Verb("team", "import", dir, "--json")
	if err != nil {
		t.Fatal(err)
	}
	var all []took
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range all {
		rel, _ := filepath.Rel(dir, o.Dir)
		got = append(got, fmt.Sprintf("%s %s %d of %d, %d members", o.Team, rel, o.Added, o.Messages, o.Members))
	}
	slices.Sort(got)
	wantDiff(t, []string{
		filepath.Base(dir) + " . 1 of 1, 1 members",
		"bare .claude/teams/bare/inboxes 1 of 1, 1 members",
		"deep .claude/teams/mixed/inboxes/deep 1 of 1, 3 members",
		"flat flat 1 of 1, 2 members",
		"humble-goose old/raw/inboxes/humble-goose 1 of 1, 2 members",
		"humble-goose raw/inboxes/humble-goose 1 of 1, 2 members",
		"live .claude/teams/live/inboxes 2 of 2, 3 members",
		"mixed .claude/teams/mixed/inboxes 1 of 1, 1 members",
		"moonlit raw/inboxes/moonlit 1 of 1, 1 members",
		"silent raw/team 0 of 0, 2 members",
	}, got)
	wantDiff(t, []string{
		"Skipped: .claude/teams/bare/inboxes/torn.json: it is not a JSON array of messages",
		"Skipped: .claude/teams/mixed/inboxes/team-lead.json: its entry 2 is not a message: it is not an object",
		"Skipped: .claude/teams/mixed/inboxes/team-lead.json: its entry 3 is not a message: it has no text",
		"Skipped: 3 other JSON files without an array.",
		"Skipped: empty.json: it holds no message",
		"Skipped: flat/config-not.json: it is not the config.json of a team",
		"Skipped: linked: it is a link, and links are not followed",
		"Skipped: numbers.json: none of its entries is a message; of the first, it is not an object",
	}, slices.Sorted(strings.SplitSeq(strings.TrimSpace(strings.ReplaceAll(skipped, dir+"/", "")), "\n")))
	if n := len(h.History()); n != 10 {
		t.Errorf("the room has %d messages", n)
	}
}

// TestImportFromInside: a team's config is found beside a directory that holds only inboxes.
func TestImportFromInside(t *testing.T) {
	for name, files := range map[string]struct{ root, config string }{
		"inboxes of a team":            {"teams/goose/inboxes", "teams/goose/config.json"},
		"a capture beside its config":  {"captures/goose", "captures/config-goose.json"},
		"a capture and its directory":  {"raw/inboxes/goose", "raw/team/config-goose.json"},
		"all captures of inboxes":      {"raw/inboxes", "raw/team/config-goose.json"},
		"the config in its own inbox":  {"goose", "goose/config.json"},
		"a config that names the team": {"goose", "goose/config-goose.json"},
	} {
		t.Run(name, func(t *testing.T) {
			h := &hq{dialecttest.New(t, Dialect()), t}
			inbox := filepath.Join(files.root, "team-lead.json")
			if files.root == "raw/inboxes" {
				inbox = "raw/inboxes/goose/team-lead.json"
			}
			dir := h.tree(map[string]string{inbox: captured("of goose"), files.config: configFor("goose")})
			out, _, err := h.Verb("team", "import", filepath.Join(dir, files.root))
			if want := "1 messages (1 added, 0 known before), 2 members"; err != nil || !strings.Contains(out, want) ||
				strings.Count(out, "Team goose in ") != 1 {
				t.Errorf("%v, %s", err, out)
			}
			for _, a := range h.agents() {
				if strings.HasPrefix(a, "team-lead") && !strings.Contains(a, "[team-lead]") {
					t.Errorf("the lead is %s", a)
				}
			}
		})
	}
}

// TestImportUnreadable: an unreadable file is reported and blocks no other.
func TestImportUnreadable(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may read everything")
	}
	h := newHQ(t, "alpha")
	dir := h.tree(map[string]string{"a/shut/team-lead.json": captured("shut"), "b/team-lead.json": captured("of b"),
		"b/secret.json": captured("secret")})
	for _, path := range []string{"a/shut", "b/secret.json"} {
		if err := os.Chmod(filepath.Join(dir, path), 0); err != nil {
			t.Fatal(err)
		}
	}
	defer os.Chmod(filepath.Join(dir, "a/shut"), 0o700)
	out, skipped, err := h.Verb("team", "import", dir)
	if err != nil || !strings.Contains(out, "Team b in ") || strings.Count(skipped, "Skipped: ") != 2 ||
		!strings.Contains(skipped, "a/shut: ") || !strings.Contains(skipped, "b/secret.json: ") {
		t.Errorf("%v, %s%s", err, out, skipped)
	}
}
