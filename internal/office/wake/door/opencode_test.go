package door

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

	"pennypost/internal/base/jsonx"
	"pennypost/internal/office/wake"
	"pennypost/internal/office/wake/sessions"
)

// opencodeDoor returns a door to the server at an address.
func opencodeDoor(address string) *OpenCode {
	return &OpenCode{Server: address, Password: sessions.NewSecret(hush), Timeout: 5 * time.Second}
}

// sessionList is opencode's answer to a request for its sessions.
const sessionList = `[
	{"id":"ses_0","projectID":"p","directory":"/src/old","title":"old","version":"1.18.33","time":{"created":1,"updated":1763000000000}},
	{"id":"ses_1","projectID":"p","directory":"/src/a b","title":"newest","agent":"plan","version":"1.18.33","time":{"created":1,"updated":1763000000002},"share":{"url":"x"}},
	{"id":"ses_2","projectID":"p","directory":"/src/a b","parentID":"ses_1","title":"a subagent's","time":{"created":1,"updated":1763000000004}},
	{"id":"ses_3","projectID":"p","directory":"/src/a b","title":"archived","time":{"created":1,"updated":1763000000005,"archived":1763000000006}},
	{"id":"ses_4","projectID":"p","directory":"/src/a b","title":"older","time":{"created":1,"updated":1763000000001}}
]`

// newOpenCode starts a server that behaves like opencode's: it lists sessions, accepts prompts for one of them,
// requires its password, and answers unknown paths with a page.
func newOpenCode(t *testing.T, list string) (address string, prompts *[]string) {
	t.Helper()
	prompts = new([]string)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		switch {
		case user != "opencode" || password != hush:
			w.WriteHeader(http.StatusUnauthorized)
			return
		case r.URL.Path == "/session" && r.Method == http.MethodGet:
			io.WriteString(w, list)
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
			Agent string `json:"agent"`
			Parts []struct {
				Type string `json:"type"`
				Text string `json:"text"`
			} `json:"parts"`
		}
		if err := jsonx.UnmarshalStrict(text, &prompt); err != nil || len(prompt.Parts) != 1 ||
			strings.Contains(list, `"agent":"plan"`) && prompt.Agent != "plan" ||
			prompt.Parts[0].Type != "text" || r.Header.Get("Content-Type") != "application/json" {
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
	address, prompts := newOpenCode(t, sessionList)
	r := testRing()
	for _, at := range []string{address, strings.Replace(address, "127.0.0.1", "localhost", 1) + "/?directory=/src",
		strings.Replace(address, "//", "//opencode@", 1)} {
		if err := opencodeDoor(at).Ring(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	want := "/src/a b: " + r.Pointer()
	if diff := cmp.Diff([]string{want, want, want}, *prompts); diff != "" {
		t.Errorf("prompts: %s", diff)
	}
	if s, err := opencodeDoor(address).Newest(t.Context()); err != nil || s.Title != "newest" || len(*prompts) != 3 {
		t.Errorf("Newest = %+v, %v, and there are %d prompts", s, err, len(*prompts))
	}
}

func TestOpenCodeFails(t *testing.T) {
	address, prompts := newOpenCode(t, sessionList)
	check := func(what, want string, d *OpenCode) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		err := d.Ring(ctx, testRing())
		if err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, wake.ErrOff) {
			t.Errorf("%s: Ring = %v, want %q", what, err, want)
		}
		noSecret(t, err)
	}
	for list, want := range map[string]string{
		`[{"id":"ses_9"}]`: "answered 404", `[{"id":"../tui/x?y"}]`: "answered 404", `[{"id":".."}]`: "no session",
		`[]`:                                  "no session",
		`[{"id":"ses_1","parentID":"ses_0"}]`: "no session", `{"data":[]}`: "does not list",
		`[{"id":"ses_1"}`: "does not list", "": "does not list",
	} {
		other, _ := newOpenCode(t, list)
		check(list, want, opencodeDoor(other))
	}
	d := opencodeDoor(address)
	d.Password = sessions.NewSecret("")
	check("no password", "wrong password", d)
	check("wrong user", "wrong password", opencodeDoor(strings.Replace(address, "//", "//x@", 1)))
	for what, at := range map[string]string{"address": "http://192.0.2.1:4096", "all": "http://10.0.0.1:1",
		"mapped": "http://[::ffff:192.0.2.1]:80"} {
		check(what, "not on this machine", opencodeDoor(at))
	}
	check("no TLS", "cannot be reached", opencodeDoor(strings.Replace(address, "http:", "https:", 1)))
	check("odd", "cannot be", opencodeDoor("http://a b/"))
	check("nobody", "does not listen", opencodeDoor("http://127.0.0.1:1"))

	elsewhere := 0
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		elsewhere++
		w.WriteHeader(204)
	}))
	defer other.Close()
	answer := func(h http.HandlerFunc) *OpenCode {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				io.WriteString(w, sessionList)
				return
			}
			h(w, r)
		}))
		t.Cleanup(s.Close)
		return opencodeDoor(s.URL)
	}
	check("sent on", "answered 307", answer(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	check("page", "200 OK, not 204", answer(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "<html>")
	}))
	check("error", "answered 500", answer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }))
	check("hangs up", "without an answer", answer(func(http.ResponseWriter, *http.Request) {
		panic(http.ErrAbortHandler)
	}))
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
