package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// A backup contains every token: only the user gets it, and only over the Unix socket.
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

// The rooms that could not be opened follow a backup, even if their names exceed what a client accepts.
func TestBackupNamesRooms(t *testing.T) {
	for n, want := range map[int]string{0: "", 1: "lab0", 2: "lab0, lab1", 5000: " more"} {
		backup := func(_ context.Context, to io.Writer) (raw []mail.RoomName, err error) {
			for i := range n {
				raw = append(raw, mail.RoomName(fmt.Sprint("lab", i)))
			}
			_, err = io.WriteString(to, strings.Repeat("x", 2*chunk))
			return raw, err
		}
		h, _ := newTestAPI(t, Options{Backup: backup})
		server := httptest.NewServer(h)
		defer server.Close()
		resp, err := server.Client().Get(server.URL + wire.Base + "/backup")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		got := resp.Trailer.Get(wire.RawTrailer)
		if err != nil || len(text) != 2*chunk || (got == "") != (n == 0) || !strings.HasSuffix(got, want) {
			t.Errorf("%d rooms: %d bytes, %q, %v; want %q at the end", n, len(text), got, err, want)
		}
	}
}

// A backup that fails half-way breaks the connection, so that no one takes it for a complete one.
func TestBrokenBackup(t *testing.T) {
	fail := func(_ context.Context, to io.Writer) ([]mail.RoomName, error) {
		_, _ = io.WriteString(to, strings.Repeat("x", 2*chunk))
		return nil, mail.Errorf(mail.Unavailable, "the disk is gone")
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
