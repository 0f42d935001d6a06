package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jetstream/natstest"
)

// TestFleet: state that belongs to one machine (a session and its doors, bridges, workspaces) is used only there,
// and is shown on all.
func TestFleet(t *testing.T) {
	servers := natstest.Start(t, 1, natstest.Options{})
	rang := filepath.Join(t.TempDir(), "rang")
	machine := func(name mail.Machine) *running {
		c := clusterConfig(t, name, servers)
		c.Room.Wake = map[string]config.Wake{"builder": {Exec: []string{"/bin/sh", "-c", "echo " + string(name) +
			" >> " + rang}}}
		return start(t, Options{Config: c})
	}
	a := machine("a")
	ctx := t.Context()
	if _, err := a.as(t, "lab", "builder").Register(ctx,
		mail.Presence{Session: "s1", Process: "", State: mail.Idle}); err != nil {
		t.Fatal(err)
	}
	b := machine("b")
	eventually(t, "b lists the room", func() bool { return b.lists(t, "lab") })
	eventually(t, "b shows where builder is", func() bool {
		ag, _, err := mail.OneAgent(ctx, b.as(t, "lab", mail.User), "builder")
		return err == nil && ag.On() == "on a"
	})
	sent, err := b.as(t, "lab", mail.User).Send(ctx, mail.Draft{To: mail.Recipients{"builder"}, Type: "question",
		Body: "?"})
	if err != nil {
		t.Fatal(err)
	}
	if d := sent.Recipients[0]; d.Wake != "on a" || d.Machine != "a" {
		t.Errorf("b says of the recipient %+v, want that it is woken on a", d)
	}
	eventually(t, "a has rung", func() bool {
		text, _ := os.ReadFile(rang)
		return string(text) == "a\n"
	})
	t.Run("bridge", func(t *testing.T) { fleetBridge(t, a, b) })
	t.Run("document", func(t *testing.T) { fleetDocument(t, a, b) })
	if text, _ := os.ReadFile(rang); string(text) != "a\n" {
		t.Errorf("rung were %q, want a once", text)
	}
}

// fleetBridge adds a bridge on a, and removes it on b.
func fleetBridge(t *testing.T, a, b *running) {
	dir := t.TempDir()
	if _, err := a.as(t, "lab", mail.User).AddBridge(t.Context(), mail.Bridge{Dialect: "haak", Dir: dir}); err != nil {
		t.Fatal(err)
	}
	bridges := func(r *running) []mail.BridgeStatus {
		all, err := r.as(t, "lab", mail.User).Bridges(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	eventually(t, "b shows how the bridge fares on a", func() bool {
		all := bridges(b)
		return len(all) == 1 && all[0].Machine == "a" && all[0].Running
	})
	if _, err := b.as(t, "lab", mail.User).SyncBridge(t.Context(), "haak"); err == nil ||
		!strings.Contains(err.Error(), "on the machine a") {
		t.Errorf("SyncBridge on b: %v, want that it is on a", err)
	}
	if err := b.as(t, "lab", mail.User).RemoveBridge(t.Context(), "haak"); err != nil {
		t.Fatal(err)
	}
	running := func() int {
		st, err := a.office.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return st.Bridges
	}
	eventually(t, "a has stopped the bridge", func() bool { return len(bridges(a)) == 0 && running() == 0 })
}

// fleetDocument reads on b a document of a's workspace, through the pages.
func fleetDocument(t *testing.T, a, b *running) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "plan.md"), []byte("# The plan"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := a.as(t, "lab", mail.User).AddWorkspace(t.Context(), mail.Workspace{ID: "ws", Dir: dir}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.as(t, "lab", "ws").Send(t.Context(), mail.Draft{To: mail.Recipients{"user"}, Type: "custom",
		Body: "done", Docs: []mail.Doc{{Path: "plan.md"}}}); err != nil {
		t.Fatal(err)
	}
	url := "/api/workspaces/ws/file?path=plan.md"
	eventually(t, "b has the document", func() bool {
		code, text := b.get(t, url, b.token)
		return code == 200 && text == "# The plan"
	})
	a.stop(t)
	code, text := b.get(t, url, b.token)
	if code != 503 {
		t.Errorf("with a away the document is %d %q, want 503", code, text)
	}
}
