package mailroom

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// TestMinting checks who decides the spelling of an id and how long mail waits, if the sender says neither: the files
// that the room keeps, and the recipient.
func TestMinting(t *testing.T) {
	protocols := []mail.Protocol{
		{Name: "any"},
		{Name: "uuid", IDs: mail.IDUUID, AgentLife: 24 * time.Hour},
		{Name: "hex", IDs: mail.IDHex12, AgentLife: 99 * time.Hour,
			NamesItself: func(client string, _ []string) bool { return client == "hex" }},
	}
	const native, uuid, hex = "msg_", "", "msg-" // how such ids begin
	for _, c := range []struct {
		name      string
		bridges   []string
		to        string
		draft     mail.Draft
		ttl       time.Duration // configured
		wantID    string
		wantHours int64
	}{
		{"no files", nil, "plain", mail.Draft{}, 0, native, 0},
		{"files that ask for nothing", []string{"any"}, "plain", mail.Draft{}, 0, native, 0},
		{"files that ask", []string{"uuid"}, "plain", mail.Draft{}, 0, uuid, 24},
		{"files that are only read", []string{"-uuid"}, "plain", mail.Draft{}, 0, native, 0},
		{"two, one of which asks", []string{"any", "uuid"}, "plain", mail.Draft{}, 0, uuid, 24},
		{"two that ask", []string{"hex", "uuid"}, "plain", mail.Draft{}, 0, hex, 99},
		{"the recipient", nil, "hexed", mail.Draft{}, 0, hex, 99},
		{"files and recipient", []string{"uuid"}, "hexed", mail.Draft{}, 0, uuid, 99},
		{"the sender", []string{"uuid"}, "hexed", mail.Draft{IDForm: mail.IDHex12, TTLSeconds: 3600}, 0, hex, 1},
		{"a tag", []string{"uuid"}, "project:x", mail.Draft{}, 0, uuid, 0},
		{"the user", []string{"uuid"}, "user", mail.Draft{}, 0, uuid, 0},
		{"an agent and a role", []string{"uuid"}, "plain,role:r", mail.Draft{}, 0, uuid, 0},
		{"two agents", []string{"uuid"}, "plain,hexed", mail.Draft{}, 0, uuid, 24},
		{"the person has set a time", []string{"uuid"}, "plain", mail.Draft{}, 48 * time.Hour, uuid, 48},
		{"the person has set none", []string{"uuid"}, "plain", mail.Draft{}, -1, uuid, 0},
	} {
		room, _ := openRoom(t, "lab", Options{Protocols: protocols, TTL: policy.TTL{Agent: c.ttl}})
		user := room.As(mail.User)
		for _, p := range []mail.Presence{{Name: "plain"}, {Name: "hexed", Client: "hex"}} {
			if _, err := user.Register(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range c.bridges {
			b := mail.Bridge{Dialect: strings.TrimPrefix(name, "-"), Dir: "/srv/" + name}
			if strings.HasPrefix(name, "-") {
				b.Mode = mail.BridgeFollow
			}
			if _, err := user.AddBridge(t.Context(), b); err != nil {
				t.Fatal(err)
			}
		}
		c.draft.To, c.draft.Body = mail.Recipients{c.to}, "m"
		sent, err := room.As("sender").Send(t.Context(), c.draft)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		it, err := user.Message(t.Context(), sent.ID)
		if err != nil || it.TTLSeconds != c.wantHours*3600 {
			t.Errorf("%s: it lives %d s, want %d h; %v", c.name, it.TTLSeconds, c.wantHours, err)
		}
		begins := func(p string) bool { return p != "" && strings.HasPrefix(string(sent.ID), p) }
		if isUUID := len(sent.ID) == 36 &&
			!slices.ContainsFunc([]string{native, hex}, begins); isUUID != (c.wantID == uuid) ||
			!isUUID && !begins(c.wantID) {
			t.Errorf("%s: the id is %s, want %q…", c.name, sent.ID, c.wantID)
		}
	}
}
