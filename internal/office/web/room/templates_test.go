package room

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/asset"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/sitetest"
)

// TestStuckTemplates draws every kind of stuck group.
func TestStuckTemplates(t *testing.T) {
	now := time.Now()
	site := &page.Site{Assets: asset.New(), Templates: page.NewTemplates(templates),
		Stuck: func(*page.View) int { return 1 }}
	v := page.NewView(site, httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
	v.Room, v.Base, v.Title = "shop", "/@shop", "Title"
	it := mail.Item{Message: mail.Message{ID: "msg_x", From: "agent:a", To: []mail.Address{"agent:b"},
		Type: mail.Question, Sent: mail.TimeOf(now)}}
	all := []stuckSection{{Kind: "dead", Title: "T", Why: "W", Groups: []*stuckGroup{
		{View: v, Kind: "dead", Who: "agent:b", Why: "why", Since: 1, Items: []mail.Item{it, it, it, it, it,
			it}, Commands: []string{"c"}, Notice: "n", Doors: []doorReport{{"d", "a"}}, Bridge: "b", Frozen: "f"},
		{View: v, Kind: "held", Who: "role:r"}, {View: v, Kind: "notice", Title: "t", Notice: "n"},
		{View: v, Kind: "file", Title: "t"},
	}}}
	pages, err := site.Templates.Pages()
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range []*stuckPage{{View: v},
		{View: v, Sections: all, Closed: []closedRoom{{v, 1, 2}}, Missing: page.Missing{NotRead: []mail.RoomName{"x"}},
			Takers: []liveRoom{{v, []mail.Agent{{Name: "a", Roles: []string{"r", "s"}}}}}}} {
		for _, part := range []string{"layout", "main", "stuck-groups"} {
			var out bytes.Buffer
			if err := pages["stuck"].ExecuteTemplate(&out, part, data); err != nil {
				t.Errorf("%s: %v", part, err)
			}
			if _, err := sitetest.Scan(out.String()); err != nil {
				t.Errorf("%s: %v", part, err)
			}
		}
	}
}
