package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/sitetest"
)

func TestPalette(t *testing.T) {
	b := newFixture(t)
	b.AddRoom("other")
	b.Register(mail.Presence{Name: "builder-1", Roles: []string{"builder"}, Tags: []string{"project:feed"},
		State: mail.Working, Task: sitetest.Ptr("The parser")}, mail.Presence{Name: "reviewer"})
	b.Send("builder-1", mail.Draft{Subject: "The tokenizer stands"})
	b.Get("/@shop/palette").Want(t, http.StatusOK, "<html", `role="combobox"`, `role="listbox"`,
		`href="/@shop/history"`, `href="/@shop/agents/builder-1#box"`, "working · The parser",
		`href="/@shop/channels/project:feed"`, `href="/@other/"`, `data-do="theme"`,
		`data-do="notify"`, `form="palette-logout"`).Without(t, "Search the history", "Write to")
	dialog := b.Part("/@shop/palette", "dialog").Want(t, http.StatusOK, `<dialog id="palette"`)
	if strings.Contains(dialog.Body, "<html") {
		t.Errorf("the dialog is a page: %.200s", dialog.Body)
	}
	for q, want := range map[string][]string{
		"bui": {`href="/@shop/agents/builder-1#box"`, `href="/@shop/channels/role:builder"`,
			`href="/@shop/compose?to=agent%3Abuilder-1"`, "Write to builder-1"},
		"BUILDER 1":   {`href="/@shop/agents/builder-1#box"`},
		"write to re": {`href="/@shop/compose?to=agent%3Areviewer"`},
		"toke":        {"The tokenizer stands", `href="/@shop/history?q=toke"`, "/@shop/t/"},
		"stu":         {`href="/@shop/stuck"`},
		"othe":        {`href="/@other/"`},
		"log":         {"Log out"},
		"theme":       {`data-do="theme"`},
		"a&b=c #":     {`href="/@shop/history?q=a%26b%3Dc&#43;%23"`},
		"q":           {"Nothing matches."},
	} {
		got := b.Part("/@shop/palette?q="+strings.NewReplacer(" ", "+", "&", "%26", "#", "%23").Replace(q),
			"palette-results").Want(t, http.StatusOK, want...)
		if !strings.HasPrefix(got.Body, `<div id="palette-results" data-query="`) {
			t.Errorf("%s: %.200s", q, got.Body)
		}
	}
	b.Part("/@shop/palette?q=bui", "palette-results").Without(t, `href="/@shop/stuck"`, "Log out", "reviewer")
	b.Get("/@shop/palette?q="+strings.Repeat("a", 5_000)).Want(t, http.StatusOK,
		strings.Repeat("a", page.MaxQuery)).Without(t, strings.Repeat("a", page.MaxQuery+1))
}

// TestPaletteOverRooms tests that the palette finds agents and mail of all rooms, and names their rooms.
func TestPaletteOverRooms(t *testing.T) {
	b := newFixture(t)
	other := b.AddRoom("other")
	if _, err := other.As("user").Register(t.Context(), mail.Presence{Name: "migrator"}); err != nil {
		t.Fatal(err)
	}
	if _, err := other.As("migrator").Send(t.Context(), mail.Draft{To: mail.Recipients{"user"},
		Subject: "The migration ran", Body: "In 38 seconds."}); err != nil {
		t.Fatal(err)
	}
	got := b.Part("/@shop/palette?q=migr&rooms=all", "palette-results").Want(t, http.StatusOK,
		`href="/@other/agents/migrator#box"`, `href="/@other/compose?to=agent%3Amigrator"`, "The migration ran", "other · ")
	if i, j := strings.Index(got.Body, "agents/migrator"), strings.Index(got.Body, "Write to"); i < 0 || j < i {
		t.Error("what begins as was typed is not first")
	}
	b.Part("/@shop/palette?q=migr", "palette-results").Without(t, "migrator")
}

func TestPaletteOfHundreds(t *testing.T) {
	b := newFixture(t)
	for i := range 400 {
		b.Register(mail.Presence{Name: mail.Name(fmt.Sprintf("worker-%03d", i)), Roles: []string{"worker"}})
	}
	got := b.Part("/@shop/palette?q=worker-3", "palette-results").Want(t, http.StatusOK, "worker-300")
	if n := strings.Count(got.Body, `role="option"`); n > 20 {
		t.Errorf("%d choices", n)
	}
	b.Part("/@shop/palette?q=399", "palette-results").Want(t, http.StatusOK, `href="/@shop/agents/worker-399#box"`)
	if got := b.Part("/@shop/palette", "dialog"); len(got.Body) > 20_000 {
		t.Errorf("the palette has %d bytes", len(got.Body))
	}
}

func TestFits(t *testing.T) {
	for _, c := range []struct {
		typed, label string
		want         int
	}{
		{"", "Inbox", 4}, {"in", "Inbox", 4}, {"IN", "inbox", 4}, {"box", "Inbox", 2}, {"ibx", "Inbox", 0},
		{"mig", "Theme: system, light, dark", 0},
		{"out", "Log out", 3}, {"1", "builder-1", 3}, {"xi", "Inbox", 0}, {"小", "小克", 4}, {"克", "小克", 2},
		{"write to b", "Write to builder", 4},
		{"w b", "Write to builder", 3}, {"b w", "Write to builder", 3}, {"ü", "über", 4}, {"o", "foo-o", 3},
	} {
		if got := fits(c.typed, c.label); got != c.want {
			t.Errorf("fits(%q, %q) = %d, want %d", c.typed, c.label, got, c.want)
		}
	}
}
