package httpapi

import (
	"net/http"
	"strings"
	"testing"

	"pennypost/internal/mail"
)

// TestP5_DialogsAreThePersons holds that agents and scripts see no dialogs, and that neither they nor machines that
// were let in can answer one, or say that the person is away.
func TestP5_DialogsAreThePersons(t *testing.T) {
	h, office := newTestAPI(t, Options{Away: fakeAway{}})
	answer := `{"dialog":"d-7","sum":"` + strings.Repeat("0f", 32) + `","verdict":"deny"}`
	away := `{"until":"2026-05-10T16:00:00Z"}`
	bearer := func(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }
	for _, who := range []struct {
		name   string
		as     mail.Name
		header http.Header
		sees   int
	}{
		{"an agent", "bob", nil, 403},
		{"an agent's token", "", bearer("ann@lab"), 403},
		{"a script", "", bearer("script"), 403},
		{"a machine", "", bearer("laptop"), 200},
	} {
		for _, w := range []want{
			{method: "GET", path: "/dialogs", status: who.sees},
			{method: "GET", path: "/dialogs?id=d-7", status: who.sees},
			{method: "POST", path: "/dialogs", body: answer, status: 403},
			{method: "GET", path: "/away", status: 403},
			{method: "PUT", path: "/away", body: away, status: 403},
		} {
			w.name, w.as, w.header = who.name+": "+w.method+" "+w.path, who.as, who.header.Clone()
			if w.body != "" && w.header != nil {
				w.header.Set("Content-Type", "application/json")
			}
			w.check(t, h, nil)
		}
	}
	if len(office.Answers) > 0 {
		t.Errorf("answered were %+v", office.Answers)
	}
	want{method: "POST", path: "/dialogs", body: answer, status: 204}.check(t, h, nil)
	if len(office.Answers) != 1 || office.Answers[0].Verdict != mail.SayDeny {
		t.Errorf("answered were %+v", office.Answers)
	}
	want{method: "POST", path: "/dialogs", body: answer, status: 404}.check(t, h, nil)
}
