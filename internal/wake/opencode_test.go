package wake

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/jsonx"
)

// opencodeDoor returns a door to a session at a server.
func opencodeDoor(address string, with func(*Session)) *OpenCode {
	s := Session{Room: "lab", Agent: "小克", Client: "opencode", ID: "ses_1", Dir: "/src/a b", Socket: NewSecret(address), Token: NewSecret(hush)}
	if with != nil {
		with(&s)
	}
	l := new(Sessions)
	l.Put(s)
	return &OpenCode{Sessions: l, Timeout: 5 * time.Second}
}

// newOpenCode starts a server that behaves as opencode's: it knows one session, wants its password, and answers what it does not know with a page.
func newOpenCode(t *testing.T) (address string, prompts *[]string) {
	t.Helper()
	prompts = new([]string)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		switch {
		case user != "opencode" || password != hush:
			w.WriteHeader(http.StatusUnauthorized)
			return
		case r.URL.EscapedPath() == "/session/ses_1/prompt_async" && r.Method == http.MethodPost:
		case strings.HasPrefix(r.URL.Path, "/session/"):
			w.WriteHeader(http.StatusNotFound)
			return
		default:
			io.WriteString(w, "<!doctype html>")
			return
		}
		text, _ := io.ReadAll(r.Body)
		var prompt struct {
			Parts []struct {
				Type string `json:"type"`
				Text string `json:"text"`
			} `json:"parts"`
		}
		if err := jsonx.UnmarshalStrict(text, &prompt); err != nil || len(prompt.Parts) != 1 || prompt.Parts[0].Type != "text" || r.Header.Get("Content-Type") != "application/json" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		*prompts = append(*prompts, r.URL.Query().Get("directory")+": "+prompt.Parts[0].Text)
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(s.Close)
	return s.URL, prompts
}

func TestOpenCode(t *testing.T) {
	address, prompts := newOpenCode(t)
	r := testRing()
	for _, at := range []string{address, strings.Replace(address, "127.0.0.1", "localhost", 1)} {
		if err := opencodeDoor(at, nil).Ring(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	want := "/src/a b: " + pointer(&r)
	if diff := cmp.Diff([]string{want, want}, *prompts); diff != "" {
		t.Errorf("prompts: %s", diff)
	}
}

func TestOpenCodeFails(t *testing.T) {
	address, prompts := newOpenCode(t)
	check := func(what, want string, d *OpenCode) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		err := d.Ring(ctx, testRing())
		if err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, ErrOff) {
			t.Errorf("%s: Ring = %v, want %q", what, err, want)
		}
		noSecret(t, err)
		if err != nil && strings.Contains(err.Error(), "127.0.0.1") {
			t.Errorf("%s: the error tells the address: %v", what, err)
		}
	}
	check("another session", "answered 404", opencodeDoor(address, func(s *Session) { s.ID = "ses_2" }))
	check("a path", "answered 404", opencodeDoor(address, func(s *Session) { s.ID = "../tui/x?y" }))
	check("up", "cannot be used", opencodeDoor(address, func(s *Session) { s.ID = ".." }))
	check("no password", "another password", opencodeDoor(address, func(s *Session) { s.Token = NewSecret("") }))
	check("wrong user", "another password", func() *OpenCode {
		d := opencodeDoor(address, nil)
		d.User = "x"
		return d
	}())
	for what, at := range map[string]string{"address": "http://192.0.2.1:4096/" + hush, "all": "http://10.0.0.1:1", "mapped": "http://[::ffff:192.0.2.1]:80"} {
		check(what, "not of this machine", opencodeDoor(at, nil))
	}
	for _, at := range []string{"https://127.0.0.1:1", "127.0.0.1:4096", "file:///" + hush, "http://", "http://a b/" + hush} {
		check(at, "cannot be used", opencodeDoor(at, nil))
	}
	check("none", "told of no server", opencodeDoor("", nil))
	check("nobody", "nobody listens", opencodeDoor("http://127.0.0.1:1/"+hush, nil))
	check("claude", "runs in claude", opencodeDoor(address, func(s *Session) { s.Client = "claude" }))

	elsewhere := 0
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { elsewhere++; w.WriteHeader(204) }))
	defer other.Close()
	answer := func(h http.HandlerFunc) *OpenCode {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		return opencodeDoor(s.URL, nil)
	}
	check("sent on", "answered 307", answer(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	check("page", "200 OK, not 204", answer(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") }))
	check("error", "answered 500", answer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }))
	check("hangs up", "without an answer", answer(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	slow := answer(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	slow.Timeout = 100 * time.Millisecond
	check("slow", "in time", slow)
	if elsewhere > 0 || len(*prompts) > 0 {
		t.Errorf("%d prompts elsewhere, %d here", elsewhere, len(*prompts))
	}
}
