//go:build unix

package natsd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"pennypost/internal/base/natsfiles"
	"pennypost/internal/base/selfsigned"
	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
	"pennypost/internal/wire/ownserver"
)

const patience = 30 * time.Second

// machine is a data directory whose server is in this process.
type machine struct {
	home config.Home
	end  func()
}

// begin starts the process of a machine, after the previous one.
func (m *machine) begin(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, Options{Home: m.home, Log: slog.New(slog.NewTextHandler(t.Output(), nil))}) }()
	m.end = func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run = %v", err)
		}
		ended <- nil
	}
	eventually(t, "the process answers", func() bool { return ownserver.Listens(m.home) })
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	if testing.Short() {
		t.Skip("NATS servers: ./test")
	}
	dir, err := os.MkdirTemp("/tmp", "ppn") // socket paths must be short
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{home: config.Home(dir)}
	t.Cleanup(func() {
		m.end()
		os.RemoveAll(dir)
	})
	m.begin(t)
	return m
}

func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after %s still not: %s", patience, what)
		}
	}
}

func ask[A any](t *testing.T, m *machine, what string, q any) (a A, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	return a, ownserver.Ask(ctx, m.home, what, q, &a)
}

// address returns a loopback address where a server can listen.
func address(t *testing.T) string {
	t.Helper()
	for range 100 {
		at := fmt.Sprint("127.0.0.1:", 12000+rand.IntN(16000))
		p, err := listening(at)
		if err == nil && p.free() == nil {
			return at
		}
	}
	t.Fatal("no port is free")
	return ""
}

// cluster makes a cluster of machines.
func cluster(t *testing.T, names ...mail.Machine) map[mail.Machine]*machine {
	t.Helper()
	all := make(map[mail.Machine]*machine)
	for i, name := range names {
		all[name] = newMachine(t)
		var err error
		if i == 0 {
			_, err = ask[wire.ClusterStatus](t, all[name], "init", wire.ClusterInit{Name: name, Address: address(t)})
		} else {
			err = all[name].join(t, all[names[0]], name)
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return all
}

// join makes a machine join with a new code from another one.
func (m *machine) join(t *testing.T, at *machine, name mail.Machine) error {
	t.Helper()
	in, err := ask[wire.ClusterInvited](t, at, "invite", wire.ClusterInvite{})
	if err != nil {
		return err
	}
	_, err = ask[wire.ClusterStatus](t, m, "join", wire.ClusterJoin{At: in.Address, Code: in.Code, Name: name,
		Named: true, Address: address(t)})
	return err
}

func (m *machine) cluster(t *testing.T) *config.Cluster {
	t.Helper()
	c, err := config.LoadCluster(m.home)
	if err != nil || c == nil {
		t.Fatalf("LoadCluster = %v, %v", c, err)
	}
	return c
}

// office connects to the server of another machine, as the post office of m would.
func (m *machine) office(t *testing.T, to *machine) (*nats.Conn, error) {
	t.Helper()
	conf, err := config.ClusterTLS(m.home)
	if err != nil {
		t.Fatal(err)
	}
	c := to.cluster(t)
	return nats.Connect("tls://"+c.Member(c.Machine).Address, nats.Secure(conf), nats.NoReconnect())
}

// TestKeys checks the rights of a machine's key: everything that a room needs, and nothing that changes the servers.
// A removed machine loses its open connections to all servers, and gets no new one. An unknown key is refused in the
// handshake.
func TestKeys(t *testing.T) {
	all := cluster(t, "desk", "laptop", "tower", "box")
	desk, laptop, box := all["desk"], all["laptop"], all["box"]
	closed := make(chan struct{})
	nc, err := box.office(t, laptop)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	nc.SetClosedHandler(func(*nats.Conn) { close(closed) })
	may := func(subject string, q any) error {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		return api(ctx, nc, subject, q, nil)
	}
	settings := map[string]any{"name": "room", "subjects": []string{"room.x"}, "num_replicas": 3, "storage": "file"}
	for allowed, q := range map[string]any{"STREAM.CREATE.room": settings, "STREAM.LIST": nil, "INFO": nil} {
		if err := may(allowed, q); err != nil {
			t.Errorf("%s: %v", allowed, err)
		}
	}
	for _, not := range []string{"STREAM.PURGE.room", "STREAM.UPDATE.room", "STREAM.DELETE.room",
		"STREAM.PEER.REMOVE.room", "STREAM.PEER.EVACUATE.room", "SERVER.REMOVE",
		"META.LEADER.STEPDOWN", "ACCOUNT.PURGE.ROOMS", "STREAM.SNAPSHOT.room"} {
		before := nc.LastError()
		if err := nc.PublishRequest("$JS.API."+not, nc.NewInbox(), []byte(`{"peer":"desk"}`)); err != nil {
			t.Error(err)
		}
		eventually(t, not+" is refused", func() bool {
			err := nc.LastError()
			return err != before && errors.Is(err, nats.ErrPermissionViolation) && strings.Contains(err.Error(), not)
		})
	}
	looksIntoFiles(t, nc, all)
	stranger := newMachine(t)
	if err := desk.cluster(t).Write(stranger.home); err != nil { // so it trusts the members, but has another key
		t.Fatal(err)
	}
	for name, at := range map[string]*machine{"desk": desk, "laptop": laptop} { // one has codes, the other none
		if nc, err := stranger.office(t, at); err == nil {
			nc.Close()
			t.Errorf("%s lets a stranger in", name)
		}
	}
	stranger.mustClear(t)

	began := time.Now()
	if _, err := ask[wire.ClusterStatus](t, desk, "remove", wire.ClusterRemove{Machine: "box"}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-closed:
		t.Logf("removed, and cut off, after %v", time.Since(began).Round(time.Millisecond))
	case <-time.After(patience):
		t.Error("the connection of a removed machine stays")
	}
	eventually(t, "a removed machine gets no connection", func() bool {
		nc, err := box.office(t, laptop)
		if err == nil {
			nc.Close()
		}
		return err != nil
	})
	if c := box.cluster(t); !c.Removed {
		t.Error("the removed machine does not know it")
	}
}

// looksIntoFiles: each server that has a stream says that a message, which was stored a moment ago, is in its files.
func looksIntoFiles(t *testing.T, nc *nats.Conn, all map[mail.Machine]*machine) {
	t.Helper()
	m := nats.NewMsg("room.x")
	m.Header.Set(nats.MsgIdHdr, "room.x.1")
	if _, err := nc.RequestMsg(m, patience); err != nil {
		t.Fatal(err)
	}
	question, err := json.Marshal(natsfiles.Question{IDs: []string{"room.x.1", "room.x.2"}})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the message is in three servers' files, and all have looked", func() bool {
		inbox := nc.NewInbox()
		answers, err := nc.SubscribeSync(inbox)
		if err == nil {
			err = nc.PublishRequest(natsfiles.Subject, inbox, question)
		}
		if err != nil {
			t.Fatal(err)
		}
		have := make(map[string]bool)
		for range all {
			var a natsfiles.Answer
			m, err := answers.NextMsg(patience)
			if err == nil {
				err = json.Unmarshal(m.Data, &a)
			}
			if err != nil || slices.Contains(a.Found, "room.x.2") {
				t.Fatalf("%+v, %v", a, err)
			}
			have[a.Server] = len(a.Found) == 1
		}
		n := 0
		for name := range all {
			if have[string(name)] {
				n++
			}
		}
		return n == 3 && len(have) == len(all)
	})
}

// mustClear removes the cluster files that a test has written.
func (m *machine) mustClear(t *testing.T) {
	t.Helper()
	if err := errors.Join(os.Remove(m.home.Cluster()), os.Remove(m.home.ClusterKey())); err != nil {
		t.Fatal(err)
	}
}

// TestRefuses checks that impossible requests are refused with a reason, and leave a machine unchanged.
func TestRefuses(t *testing.T) {
	desk := cluster(t, "desk")["desk"]
	other := cluster(t, "other")["other"]
	m := newMachine(t)
	invite := func(at *machine) wire.ClusterInvited {
		in, err := ask[wire.ClusterInvited](t, at, "invite", wire.ClusterInvite{})
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	in := invite(desk)
	code, err := wire.ParseCode(in.Code)
	if err != nil {
		t.Fatal(err)
	}
	wrong, plain := code, code
	wrong.Secret, plain.Cluster = wire.NewSecret(), false
	taken, err := net.Listen("tcp", address(t))
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	busy := taken.Addr().String()
	elsewhere := other.cluster(t).Members[0].Address
	misspelt := in.Code[:47] + "x"
	if misspelt == in.Code {
		misspelt = in.Code[:47] + "y"
	}
	tests := map[string]struct {
		ask  wire.ClusterJoin
		says string
	}{
		"a wrong code":            {wire.ClusterJoin{At: in.Address, Code: wrong.String()}, "does not know this code"},
		"a misspelt code":         {wire.ClusterJoin{At: in.Address, Code: misspelt}, "misspelt"},
		"a code of a post office": {wire.ClusterJoin{At: in.Address, Code: plain.String()}, "pennypost join"},
		"another machine":         {wire.ClusterJoin{At: elsewhere, Code: in.Code}, "did not make this code"},
		"nobody there":            {wire.ClusterJoin{At: address(t), Code: in.Code}, "no cluster server answers"},
		"a port in " +
			"use": {wire.ClusterJoin{At: in.Address, Code: in.Code, Address: busy}, "cannot listen"},
		"an address that is " +
			"none": {wire.ClusterJoin{At: in.Address, Code: in.Code, Address: "a b:4222"}, "not a valid address"},
		"a port that is too " +
			"high": {wire.ClusterJoin{At: in.Address, Code: in.Code, Address: "127.0.0.1:64000"},
			"not a valid address"},
		"a name that is in " +
			"use": {wire.ClusterJoin{At: in.Address, Code: in.Code, Name: "desk", Named: true}, "use another name"},
		"a name that is no name": {wire.ClusterJoin{At: in.Address, Code: in.Code, Name: "a b"}, "machine"},
		"an address of " +
			"another": {wire.ClusterJoin{At: in.Address, Code: in.Code, Address: in.Address}, "cannot listen"},
	}
	for name, tt := range tests {
		if tt.ask.Name == "" {
			tt.ask.Name = "laptop"
		}
		if tt.ask.Address == "" {
			tt.ask.Address = address(t)
		}
		_, err := ask[wire.ClusterStatus](t, m, "join", tt.ask)
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want something with %q", name, err, tt.says)
		}
		if left := left(m.home); left != "nats.lock nats.sock" {
			t.Errorf("%s leaves %s", name, left)
		}
	}
	if n := len(desk.cluster(t).Members); n != 1 {
		t.Errorf("the cluster has %d machines", n)
	}
	_, err = ask[wire.ClusterStatus](t, desk, "init", wire.ClusterInit{Name: "desk", Address: address(t)})
	if err == nil ||
		!strings.Contains(err.Error(), "already in a cluster") {
		t.Errorf("init in a cluster: %v", err)
	}
	// the code is still valid after all that, and for one machine only
	if _, err := ask[wire.ClusterStatus](t, m, "join", wire.ClusterJoin{At: in.Address, Code: in.Code, Name: "desk",
		Address: address(t)}); err != nil {
		t.Fatal(err)
	}
	if c := m.cluster(t); c.Machine != "desk-2" {
		t.Errorf("a second desk is called %s", c.Machine)
	}
	late := newMachine(t)
	_, err = ask[wire.ClusterStatus](t, late, "join", wire.ClusterJoin{At: in.Address, Code: in.Code, Name: "late",
		Address: address(t)})
	if err == nil || !strings.Contains(err.Error(), "was used by the machine desk-2") {
		t.Errorf("a used code: %v", err)
	}
	if left := left(late.home); left != "nats.lock nats.sock" {
		t.Errorf("a used code leaves %s", left)
	}
}

func left(home config.Home) string {
	files, _ := os.ReadDir(string(home))
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	return strings.Join(names, " ")
}

// TestBackToOne removes a machine of a cluster without rooms, and another leaves: the remaining one lets others in.
func TestBackToOne(t *testing.T) {
	all := cluster(t, "desk", "laptop", "tower")
	desk := all["desk"]
	removes := func(who *machine, name mail.Machine) {
		t.Helper()
		// On a busy machine an election may take longer than a command waits: the command says to run it again.
		eventually(t, "a removal", func() bool {
			_, err := ask[wire.ClusterStatus](t, who, "remove", wire.ClusterRemove{Machine: name})
			if err != nil {
				t.Log(err)
			}
			return err == nil
		})
	}
	removes(desk, "tower")
	removes(all["laptop"], "") // it leaves
	eventually(t, "desk is alone, and its server has ended", func() bool {
		return len(desk.cluster(t).Members) == 1 && !ownserver.Listens(desk.home)
	})
	desk.end()
	desk.begin(t)
	again := newMachine(t)
	if err := again.join(t, desk, "tower"); err == nil || !strings.Contains(err.Error(), "use another name") {
		t.Errorf("a machine of a name that was removed: %v", err)
	}
	if err := again.join(t, desk, "tower-2"); err != nil {
		t.Fatal(err)
	}
	if c := desk.cluster(t); len(c.Members) != 2 {
		t.Errorf("the members are %v", c.Members)
	}
}

// TestRestart stops all servers and starts them again: the list is unchanged, even if a machine missed a change.
func TestRestart(t *testing.T) {
	all := cluster(t, "desk", "laptop", "tower")
	all["tower"].end()
	box := newMachine(t)
	if err := box.join(t, all["laptop"], "box"); err != nil {
		t.Fatal(err)
	}
	all["box"] = box
	for _, name := range []mail.Machine{"desk", "laptop", "box"} {
		all[name].end()
	}
	for _, m := range all {
		m.begin(t)
	}
	for name, m := range all {
		eventually(t, string(name)+" knows all four", func() bool { return len(m.cluster(t).Members) == 4 })
	}
	if pin := selfsigned.PinOfKey(all["tower"].cluster(t).Member("box").Key); !all["box"].cluster(t).Knows(pin) {
		t.Error("the key of box is another")
	}
	if _, err := os.Stat(filepath.Join(string(box.home), "nats", "jetstream")); err != nil {
		t.Error(err)
	}
}
