package client

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"pennypost/internal/mail"
	"pennypost/internal/mail/mailtest"
	"pennypost/internal/office/httpapi"
	"pennypost/internal/room/journal/journaltest"
	"pennypost/internal/room/mailroom"
	"pennypost/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rooms is a post office of rooms in memory.
type rooms struct {
	mailtest.Asking
	t *testing.T

	mu    sync.Mutex
	rooms map[mail.RoomName]*mailroom.Room
}

func (o *rooms) Room(ctx context.Context, name mail.RoomName, as mail.Name) (mail.Service, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.rooms[name] == nil {
		r, err := mailroom.Open(ctx, name, (&journaltest.Store{}).Open(), mailroom.Options{})
		if err != nil {
			return nil, err
		}
		o.t.Cleanup(func() { r.Close() })
		o.rooms[name] = r
	}
	return o.rooms[name].As(as), nil
}

func (o *rooms) Rooms(context.Context) ([]mail.RoomStatus, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []mail.RoomStatus
	for _, r := range o.rooms {
		all = append(all, r.Status())
	}
	return all, nil
}

// peer trusts the header of a process on a Unix socket.
func peer(r *http.Request) (mail.Caller, error) {
	name, err := wire.Agent(r.Header)
	return mail.Caller{Name: name}, err
}

// serve serves office on a Unix socket, and returns its path.
func serve(t *testing.T, office mail.Office) string {
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: httpapi.New(httpapi.Options{Office: office, Authenticate: peer,
		Log: slog.New(slog.NewTextHandler(t.Output(), nil))})}
	done := make(chan error)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Close()
		<-done
	})
	return socket
}

// TestService checks that the client keeps the promises of mail.Service, over a real socket and with a real room.
func TestService(t *testing.T) {
	mailtest.Run(t, func(t *testing.T) mail.Office {
		office := &rooms{t: t, rooms: make(map[mail.RoomName]*mailroom.Room)}
		o, err := New(Options{Socket: serve(t, office)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(o.Close)
		return o
	})
}

func (o *rooms) Fleet(ctx context.Context, q mail.FleetQuery) (mail.Fleet, error) {
	return mailtest.FleetOf(ctx, o, q)
}

func (o *rooms) FleetMail(ctx context.Context, q mail.FleetMailQuery) (mail.FleetMail, error) {
	return mailtest.FleetMailOf(ctx, o, q)
}

func (o *rooms) Desk(ctx context.Context, q mail.DeskQuery) (mail.Desk, error) {
	return mailtest.DeskOf(ctx, o, q)
}

func (o *rooms) WatchDesk(ctx context.Context) (mail.DeskWatch, error) {
	return mailtest.WatchDeskOf(ctx, o)
}
