package httpapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// A backup has every token in it: only the user gets it, and only over the Unix socket.
func TestBackupIsTheUsers(t *testing.T) {
	local := Options{Backup: fakeBackup}
	h, _ := newTestAPI(t, local)
	want{path: "/backup", status: http.StatusOK}.check(t, h, nil)
	want{path: "/backup", status: http.StatusForbidden,
		header: http.Header{wire.AgentHeader: {"ann"}}}.check(t, h, nil)
	far := local
	far.Local = func(*http.Request) bool { return false }
	h, _ = newTestAPI(t, far)
	want{path: "/backup", status: http.StatusForbidden}.check(t, h, nil)
}

// A backup that fails half-way breaks the connection, so that nobody takes it for a whole one.
func TestBrokenBackup(t *testing.T) {
	fail := func(_ context.Context, to io.Writer) error {
		_, _ = io.WriteString(to, strings.Repeat("x", 2*chunk))
		return mail.Errorf(mail.Unavailable, "the disk is gone")
	}
	h, _ := newTestAPI(t, Options{Backup: fail})
	server := httptest.NewServer(h)
	defer server.Close()
	resp, err := server.Client().Get(server.URL + wire.Base + "/backup")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a broken backup was read to its end: %d bytes, %v", len(text), err)
	}
}
