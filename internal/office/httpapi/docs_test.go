package httpapi

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// example is one curl of docs/http.md and the status above it.
type example struct {
	line   string
	status int
	method string
	url    string
	header http.Header
	body   string
}

// examples reads the document: in blocks of sh, a line "# 200" and then a command, which may continue after a
// backslash.
func examples(t *testing.T) []example {
	text, err := os.ReadFile("../../../docs/http.md")
	if err != nil {
		t.Fatal(err)
	}
	var all []example
	for i, block := range strings.Split(string(text), "```") {
		kind, code, _ := strings.Cut(block, "\n")
		switch {
		case i%2 == 0:
		case kind == "json":
			if !json.Valid([]byte(code)) {
				t.Errorf("not JSON: %s", code)
			}
		case kind == "sh":
			status := 0
			for line := range strings.Lines(strings.ReplaceAll(code, "\\\n", "")) {
				if s, ok := strings.CutPrefix(line, "# "); ok {
					status, _ = strconv.Atoi(strings.TrimSpace(s))
					continue
				}
				all = append(all, parseCurl(t, strings.TrimSpace(line), status))
			}
		}
	}
	return all
}

func parseCurl(t *testing.T, line string, status int) example {
	e := example{line: line, status: status, method: http.MethodGet, header: http.Header{}}
	words := shellWords(line)
	if words[0] != "curl" {
		t.Fatalf("not a curl: %s", line)
	}
	for i := 1; i < len(words); i++ {
		switch words[i] {
		case "-sS", "-sSN":
		case "--unix-socket", "-o":
			i++
		case "-X":
			i++
			e.method = words[i]
		case "-H":
			i++
			name, value, _ := strings.Cut(words[i], ": ")
			e.header.Set(name, value)
		case "-d", "--data-binary":
			i++
			e.body = words[i]
			if e.method == http.MethodGet {
				e.method = http.MethodPost
			}
		default:
			e.url = words[i]
		}
	}
	return e
}

// shellWords splits a line as a shell does, with quotes but without escapes.
func shellWords(line string) []string {
	var words []string
	var word strings.Builder
	quote := rune(0)
	for _, r := range line + " " {
		switch {
		case r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote = r
		case quote == 0 && r == ' ':
			if word.Len() > 0 {
				words = append(words, word.String())
			}
			word.Reset()
		default:
			word.WriteRune(r)
		}
	}
	return words
}

// TestDocs runs every example of docs/http.md, and checks that these cover all routes.
func TestDocs(t *testing.T) {
	office := newFakeOffice()
	h := New(Options{
		Office: office, Stop: func() {
		}, Listen: fakeListen, Notify: fakeNotify{}, GitHub: fakeGitHub{}, Pages: fakePages{},
		Remove: fakeRemove,
		Move:   fakeMove, Restore: fakeRestore, Shards: fakeShards{}, Machines: fakeMachines{}, Try: fakeTry,
		Backup: fakeBackup, Attach: fakeAttach, Invites: fakeInvites{},
		Credentials: fakeCredentials{}, Confirmations: fakeConfirmations{}, Away: fakeAway{}, Outbox: fakeOutbox{},
		Hooks: fakeHooks{}, Local: func(*http.Request) bool { return true },
		Authenticate: func(r *http.Request) (mail.Caller, error) {
			if strings.HasPrefix(r.RequestURI, "http://127.0.0.1") && r.Header.Get("Authorization") == "" {
				return mail.Caller{}, mail.Errorf(mail.Unknown, "a token is needed")
			}
			name, err := wire.Agent(r.Header)
			return mail.Caller{Name: name}, err
		},
	})
	missing := map[string]bool{}
	for _, rt := range routes(&Options{}) {
		missing[rt.Method+" "+wire.Base+rt.Path] = true
	}
	if _, err := (&fakeService{office.room("lab"), "ann"}).Send(t.Context(),
		mail.Draft{To: mail.Recipients{"bob"}, Body: "hi"}); err != nil {
		t.Fatal(err)
	}
	for _, e := range examples(t) {
		url := strings.NewReplacer("$U", "http://127.0.0.1:8765", "msg_V1StGXR8_Z5jdHi6B-myT", "m1").Replace(e.url)
		body := strings.Replace(e.body, "@backup.jsonl",
			`{"id":"x","type":"status","from":"agent:a","to":["all"],"body":"b","seq":1,"read":true}`, 1)
		r := httptest.NewRequest(e.method, url, strings.NewReader(body))
		r.Header = e.header
		// the example of events does not end on its own
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r.WithContext(ctx))
		cancel()
		if rec.Code != e.status {
			body, _ := io.ReadAll(rec.Result().Body)
			t.Errorf("%s\n%d %s, want %d", e.line, rec.Code, body, e.status)
		}
		_, pattern := h.(*api).mux.Handler(r)
		delete(missing, pattern)
	}
	for pattern := range missing {
		t.Errorf("no example of %s", pattern)
	}
}
