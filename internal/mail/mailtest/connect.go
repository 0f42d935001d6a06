package mailtest

import (
	"regexp"
	"slices"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pennypost/internal/mail"
)

// A test of a Service knows no files: it checks the list that the room keeps.
func bridges(s *suite) {
	user := s.as(mail.User)
	list := func() []mail.Bridge {
		s.Helper()
		all, err := user.Bridges(s.ctx)
		if err != nil {
			s.Fatal(err)
		}
		out := []mail.Bridge{}
		for _, b := range all {
			out = append(out, b.Bridge)
		}
		return out
	}
	check := func(want ...mail.Bridge) {
		s.Helper()
		if diff := cmp.Diff(want, list(), cmpopts.IgnoreFields(mail.Bridge{}, "Added"),
			cmpopts.EquateEmpty()); diff != "" {
			s.Errorf("bridges (-want +got):\n%s", diff)
		}
	}
	add := func(b mail.Bridge) {
		s.Helper()
		if _, err := user.AddBridge(s.ctx, b); err != nil {
			s.Fatalf("AddBridge(%+v): %v", b, err)
		}
	}
	one, two := s.TempDir(), s.TempDir()
	check()
	add(mail.Bridge{Dialect: "haak", Dir: one})
	add(mail.Bridge{Dialect: "haak", Dir: two, Mode: mail.BridgeMirror})
	add(mail.Bridge{Dialect: "haak", Dir: one, Mode: mail.BridgeFollow})
	first, second := mail.Bridge{ID: "haak", Dialect: "haak", Dir: one,
		Mode: mail.BridgeFollow}, mail.Bridge{ID: "haak-2", Dialect: "haak", Dir: two, Mode: mail.BridgeMirror}
	check(first, second)
	for _, bad := range []mail.Bridge{{Dialect: "haak", Dir: "relative"}, {Dialect: "haak"}, {Dir: one},
		{Dialect: "haak", Dir: one, Mode: "sideways"}} {
		if _, err := user.AddBridge(s.ctx, bad); mail.CodeOf(err) != mail.Invalid {
			s.Errorf("AddBridge(%+v) = %v, want invalid", bad, err)
		}
	}
	if _, err := user.SyncBridge(s.ctx, "nothing"); mail.CodeOf(err) != mail.NotFound {
		s.Errorf("SyncBridge of nothing = %v", err)
	}
	if _, err := user.RejectedLines(s.ctx, "nothing"); mail.CodeOf(err) != mail.NotFound {
		s.Errorf("RejectedLines of nothing = %v", err)
	}
	s.register("ann")
	if _, err := s.as("ann").AddBridge(s.ctx, mail.Bridge{Dialect: "haak", Dir: s.TempDir()}); mail.CodeOf(
		err) != mail.Denied {
		s.Errorf("an agent adds a bridge: %v", err)
	}
	if err := s.as("ann").RemoveBridge(s.ctx, "haak"); mail.CodeOf(err) != mail.Denied {
		s.Errorf("an agent removes a bridge: %v", err)
	}
	if _, err := user.Archive(s.ctx); err != nil { // the checkpoint repeats the bridges that compaction drops
		s.Fatal(err)
	}
	check(first, second)
	if err := user.RemoveBridge(s.ctx, "haak"); err != nil {
		s.Fatal(err)
	}
	check(second)
	if err := user.RemoveBridge(s.ctx, "haak"); mail.CodeOf(err) != mail.NotFound {
		s.Errorf("removing twice = %v", err)
	}
	if err := user.RemoveBridge(s.ctx, "haak-2"); err != nil { // no later test uses the suite's directories
		s.Fatal(err)
	}
}

func workspaces(s *suite) {
	user := s.as(mail.User)
	dir := s.TempDir()
	for _, label := range []string{"", "Macro thesis", ""} {
		w, err := user.AddWorkspace(s.ctx, mail.Workspace{ID: "ws-1", Label: label, Dir: dir})
		if want := []string{"ws-1", "Macro thesis"}; err != nil || !slices.Contains(want, w.Label) {
			s.Fatalf("AddWorkspace = %+v, %v", w, err)
		}
	}
	for _, bad := range []mail.Workspace{{ID: "a/b", Dir: dir}, {ID: "", Dir: dir}, {ID: "user", Dir: dir},
		{ID: "x", Dir: "."}, {ID: "x", Dir: dir, Label: "a\nb"}} {
		if _, err := user.AddWorkspace(s.ctx, bad); err == nil {
			s.Errorf("AddWorkspace(%+v) succeeded", bad)
		}
	}
	if _, err := user.Archive(s.ctx); err != nil {
		s.Fatal(err)
	}
	list, err := user.Workspaces(s.ctx)
	if err != nil || len(list) != 1 || list[0].Label != "Macro thesis" || list[0].Dir != dir || list[0].Added == 0 {
		s.Errorf("Workspaces = %+v, %v", list, err)
	}
	if _, err := user.Token(s.ctx, "ws-1"); err != nil {
		s.Errorf("the workspace's agent has no token: %v", err)
	}
	if _, err := s.as("ws-1").AddWorkspace(s.ctx, mail.Workspace{ID: "ws-2", Dir: dir}); mail.CodeOf(
		err) != mail.Denied {
		s.Errorf("an agent adds a workspace: %v", err)
	}
	if err := user.RemoveWorkspace(s.ctx, "ws-1"); err != nil {
		s.Fatal(err)
	}
	if err := user.RemoveWorkspace(s.ctx, "ws-1"); mail.CodeOf(err) != mail.NotFound {
		s.Errorf("removing twice = %v", err)
	}
	if agents, err := mail.Roster(s.ctx, user); err != nil || len(agents) != 0 {
		s.Errorf("the roster is %+v, %v, want the workspace's agent gone", agents, err)
	}
}

func idForms(s *suite) {
	s.register("ann")
	for form, want := range map[mail.IDForm]string{
		"":           `^msg_[A-Za-z0-9_-]{21}$`,
		mail.IDUUID:  `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`,
		mail.IDHex12: `^msg-[0-9a-f]{12}$`,
	} {
		if id := s.send(mail.User, mail.Draft{To: mail.Recipients{"ann"}, Body: "x",
			IDForm: form}).ID; !regexp.MustCompile(want).MatchString(string(id)) {
			s.Errorf("form %q makes the id %q", form, id)
		}
	}
	if _, err := s.as(mail.User).Send(s.ctx, mail.Draft{To: mail.Recipients{"ann"}, Body: "x",
		IDForm: "roman"}); mail.CodeOf(err) != mail.Invalid {
		s.Errorf("an odd form: %v", err)
	}
}
