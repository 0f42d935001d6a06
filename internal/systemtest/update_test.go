package systemtest

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"pennypost/internal/base/minisign"
	"pennypost/internal/base/versions"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// releaseSecret signs the releases of tests.
var releaseSecret = sync.OnceValue(func() *minisign.Secret {
	s, err := minisign.NewSecret(strings.NewReader(strings.Repeat("not a secret of anybody ", 4)))
	if err != nil {
		panic(err)
	}
	return s
})

// updater is an office whose programs are from a release, and may be updated.
type updater struct {
	*office
	bin     string // their directory
	release string // the directory of the available release's files
}

// built has the programs of releases, built once.
var built struct {
	sync.Mutex
	dirs map[string]string
}

// builtRelease returns a directory with the programs of a release, which accept the key of tests.
func builtRelease(t *testing.T, version string) string {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	if dir := built.dirs[version]; dir != "" {
		return dir
	}
	dir := filepath.Join(filepath.Dir(binary), version)
	flags := "-s -w -X pennypost/internal/front/cli.release=" + version +
		" -X pennypost/internal/natsd.release=" + version +
		" -X pennypost/internal/office/update.releaseKey=" + releaseSecret().Key.String()
	for name, pkg := range map[string]string{"pennypost": "../../cmd/pennypost", "pennypostd": "../..",
		"pennypost-nats": "../../cmd/pennypost-nats"} {
		cmd := exec.Command("go", "build", "-ldflags", flags, "-o", filepath.Join(dir, name), pkg)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go build: %v\n%s", err, out)
		}
	}
	if built.dirs == nil {
		built.dirs = make(map[string]string)
	}
	built.dirs[version] = dir
	return dir
}

// newUpdater installs v1.2.3, as its archive is unpacked.
func newUpdater(t *testing.T) *updater {
	t.Helper()
	if runtime.GOOS != "linux" || os.Getenv("PENNYPOST_BIN") != "" {
		t.Skip("builds releases for a Linux")
	}
	u := &updater{office: newOffice(t)}
	u.bin, u.release = filepath.Join(u.root, "bin"), filepath.Join(u.root, "release")
	for _, dir := range []string{u.bin, u.release} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	from := builtRelease(t, "v1.2.3")
	for _, program := range versions.Programs {
		text, err := os.ReadFile(filepath.Join(from, program))
		if err == nil {
			err = os.WriteFile(filepath.Join(u.bin, program), text, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if u.program, err = seat.Program(filepath.Join(u.bin, "pennypost")); err != nil {
		t.Fatal(err)
	}
	return u
}

// publish makes a release of programs, signed.
func (u *updater) publish(t *testing.T, version string, programs map[string][]byte) {
	t.Helper()
	number := strings.TrimPrefix(version, "v")
	name := "pennypost_" + number + "_" + runtime.GOOS + "_" + runtime.GOARCH
	var packed bytes.Buffer
	zip, _ := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	out := tar.NewWriter(zip)
	for _, file := range append([]string{"LICENSE"}, versions.Programs[:]...) {
		text, ok := programs[file]
		if !ok {
			continue
		}
		err := out.WriteHeader(&tar.Header{Name: name + "/" + file, Mode: 0o755, Size: int64(len(text))})
		if _, err2 := out.Write(text); err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
	}
	if err := errors.Join(out.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	u.put(t, name+".tar.gz", packed.Bytes())
	u.sign(t, version, fmt.Appendf(nil, "%x  %s.tar.gz\n%x  install.sh\n", sha256.Sum256(packed.Bytes()), name,
		sha256.Sum256(nil)))
}

func (u *updater) sign(t *testing.T, version string, sums []byte) {
	t.Helper()
	u.put(t, "SHA256SUMS", sums)
	u.put(t, "SHA256SUMS.minisig", releaseSecret().Sign(sums, "pennypost "+version))
}

func (u *updater) put(t *testing.T, name string, text []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(u.release, name), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// publishBuilt makes a release of programs that work.
func (u *updater) publishBuilt(t *testing.T, version string) {
	t.Helper()
	programs := map[string][]byte{"LICENSE": []byte("Apache-2.0\n")}
	for _, name := range versions.Programs {
		text, err := os.ReadFile(filepath.Join(builtRelease(t, version), name))
		if err != nil {
			t.Fatal(err)
		}
		programs[name] = text
	}
	u.publish(t, version, programs)
}

// publishScript makes a release of scripts.
func (u *updater) publishScript(t *testing.T, version, does string) {
	t.Helper()
	text := []byte("#!/bin/sh\n" + does + "\n")
	u.publish(t, version, map[string][]byte{"pennypost": text, "pennypostd": text, "pennypost-nats": text})
}

// update runs the command with the programs first on the PATH.
func (u *updater) update(args ...string) result {
	return u.runWith("", []string{"PATH=" + u.bin + ":/usr/bin:/bin"}, append([]string{"update"}, args...)...)
}

// installed asks the programs for their version, and fails if they differ.
func (u *updater) installed(t *testing.T) string {
	t.Helper()
	var said [len(versions.Programs)]string
	for i, program := range versions.Programs {
		cmd := exec.Command(filepath.Join(u.bin, program), "--version")
		cmd.Env = u.environ()
		out, err := cmd.CombinedOutput()
		words := strings.Fields(string(out))
		if err != nil || len(words) < 2 {
			t.Fatalf("%s says %q and ends with %v", program, out, err)
		}
		said[i] = words[1]
	}
	if said[0] != said[1] || said[0] != said[2] {
		t.Fatalf("the programs are of the versions %q", said)
	}
	return said[0]
}

// keeps holds that the inbox has the one message.
func (u *updater) keeps(t *testing.T, body string, flags ...string) {
	t.Helper()
	got := ask[mail.Page](t, u.office, append([]string{"inbox"}, flags...)...).Messages
	if len(got) != 1 || got[0].Body != body {
		t.Errorf("the mail is %+v, want %q", got, body)
	}
}

// TestUpdate updates a running post office, while agents send, wait and have sessions open, goes back, and forward
// again. No acknowledged mail is missing, no client has to be restarted, and processes started by earlier sessions
// are of the new version.
func TestUpdate(t *testing.T) {
	t.Parallel()
	u := newUpdater(t)
	u.publishBuilt(t, "v1.2.4")
	for _, name := range []string{"sink", "sleeper"} {
		u.must(t, "agents", "register", name)
	}
	u.must(t, "agents", "register", "reader", "--room", "lab")
	reader := u.mustAgent(t, eraStateless, "--as", "reader", "--room", "lab")
	u.must(t, "send", "--room", "lab", "--to", "reader", "--body", "before the update")
	u.must(t, "open", "--help") // any command; the office is there by now
	all, stop := u.startSenders(t)
	sleeper := u.mustAgent(t, eraStateless, "--as", "sleeper", "--room", "lab")
	slept := make(chan error, 1)
	go func() {
		text, err := sleeper.call(context.Background(), "wait_for_messages", map[string]any{"timeout_seconds": 55})
		if err == nil && !strings.Contains(text, "after the update") {
			err = errors.New(text)
		}
		slept <- err
	}()
	if err := u.awaitWatchers("1"); err != nil {
		t.Fatal(err)
	}
	before := ask[wire.Status](t, u.office, "status")
	if r := u.update("--check", "--from", u.release); r.code != 0 ||
		!strings.Contains(r.stdout, "v1.2.4 is available") {
		t.Errorf("update --check: %+v", r)
	}

	began := time.Now()
	r := u.update("--from", "file://"+u.release)
	if r.code != 0 || !strings.Contains(r.stdout, "Installed v1.2.4") ||
		!strings.Contains(r.stdout, "runs this version") {
		t.Fatalf("update: %+v", r)
	}
	t.Logf("the update took %v", time.Since(began).Round(time.Millisecond))
	after := ask[wire.Status](t, u.office, "status")
	if before.Version != "v1.2.3" || after.Version != "v1.2.4" || before.PID == after.PID {
		t.Errorf("the post office was %+v and is %+v", before, after)
	}
	time.Sleep(100 * time.Millisecond) // the senders find the new post office
	stop()
	checkSent(t, all, u.exported(t))
	u.must(t, "send", "--room", "lab", "--to", "sleeper", "--body", "after the update")
	if err := <-slept; err != nil {
		t.Errorf("a wait over the update: %v", err)
	}
	if got, _ := reader.read(t, "read_messages", nil); len(got) != 1 || got[0].Body != "before the update" {
		t.Errorf("an agent's session reads %+v", got)
	}

	u.must(t, "stop")
	must[mail.Sent](t, reader, "send_message", map[string]any{"to": "user", "body": "still here"})
	if st := ask[wire.Status](t, u.office, "status"); st.Version != "v1.2.4" {
		t.Errorf("a session of before starts a post office of %s", st.Version)
	}
	if r := u.update("--from", u.release); r.code != 0 || !strings.Contains(r.stdout, "no newer release") {
		t.Errorf("update once more: %+v", r)
	}
	for _, want := range []string{"v1.2.3", "v1.2.4"} {
		if r := u.update("--back"); r.code != 0 || !strings.Contains(r.stdout, "Installed "+want) {
			t.Errorf("update --back: %+v", r)
		}
		if st := ask[wire.Status](t, u.office, "status"); st.Version != want || u.installed(t) != want {
			t.Errorf("the post office is of %s, the programs of %s, want %s", st.Version, u.installed(t), want)
		}
	}
	u.keeps(t, "still here", "--room", "lab")
}

// TestUpdateWaits: an update does not interrupt a send that has begun. Half of one has arrived; the old version
// continues until the other half has come, and its sender learns that it was sent.
func TestUpdateWaits(t *testing.T) {
	t.Parallel()
	u := newUpdater(t)
	u.publishBuilt(t, "v1.2.4")
	u.must(t, "agents", "register", "ann")
	conn, err := net.Dial("unix", filepath.Join(u.home, "pennypost.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body := `{"to":["ann"],"type":"status","body":"half and half"}`
	begin := fmt.Sprintf("POST /api/v1/rooms/default/messages HTTP/1.1\r\nHost: x\r\n"+
		"Content-Type: application/json\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n",
		u.operator(t), len(body))
	if _, err := io.WriteString(conn, begin+body[:10]); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the send has begun", func() bool { return ask[wire.Status](t, u.office, "status").Busy == 1 })
	ended := make(chan result, 1)
	go func() { ended <- u.update("--from", u.release) }()
	eventually(t, "the programs are replaced", func() bool {
		runs, _ := os.Readlink(filepath.Join(u.bin, ".pennypost", "current"))
		return runs == "v1.2.4"
	})
	time.Sleep(300 * time.Millisecond)
	if st := ask[wire.Status](t, u.office, "status"); st.Version != "v1.2.3" {
		t.Errorf("while a send is under way the post office is of %s", st.Version)
	}
	if _, err := io.WriteString(conn, body[10:]); err != nil {
		t.Fatal(err)
	}
	if answer, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || answer.StatusCode/100 != 2 {
		t.Errorf("the send was answered with %+v, %v", answer, err)
	} else {
		answer.Body.Close()
	}
	if r := <-ended; r.code != 0 || !strings.Contains(r.stdout, "runs this version") {
		t.Errorf("update: %+v", r)
	}
	u.keeps(t, "half and half", "--as", "ann")
}

// TestUpdateKilled kills the update, at moments spread over all of it, while a post office runs. Afterwards both
// programs have the same version, they work, and the next update is complete.
func TestUpdateKilled(t *testing.T) {
	t.Parallel()
	u := newUpdater(t)
	u.publishBuilt(t, "v1.2.4")
	u.must(t, "send", "--to", "user", "--as", "builder", "--body", "kept")
	began := time.Now()
	if r := u.update("--from", u.release); r.code != 0 {
		t.Fatal(r)
	}
	takes := time.Since(began)
	seen := make(map[string]int)
	const kills = 12
	for i := range kills {
		if u.installed(t) == "v1.2.4" {
			r := u.update("--back")
			if r.code != 0 { // a post office that the killed update had started came up meanwhile, as it said
				r = u.update("--back")
			}
			if r.code != 0 {
				t.Fatal(r)
			}
		}
		ended := make(chan result, 1)
		go func() { ended <- u.update("--from", u.release) }()
		time.Sleep(takes * time.Duration(i+1) / kills)
		for _, p := range u.processes() {
			if len(p.args) > 1 && p.args[1] == "update" {
				p.kill()
			}
		}
		<-ended
		version := u.installed(t)
		seen[version]++
		u.keeps(t, "kept")
	}
	t.Logf("an update takes %v; after kills there was %v", takes.Round(time.Millisecond), seen)
	if u.installed(t) == "v1.2.4" {
		u.update("--back")
	}
	if r := u.update("--from", u.release); r.code != 0 || u.installed(t) != "v1.2.4" {
		t.Errorf("the last update: %+v", r)
	}
	if left, err := filepath.Glob(filepath.Join(u.bin, ".pennypost", "part.*")); err != nil || len(left) > 0 {
		t.Errorf("it leaves %v, %v", left, err)
	}
}

// TestUpdateThatDoesNotStart: if the new post office cannot be started, the old one is back.
func TestUpdateThatDoesNotStart(t *testing.T) {
	t.Parallel()
	u := newUpdater(t)
	u.publishScript(t, "v1.2.4",
		`if [ "$1" = --version ]; then echo "pennypost v1.2.4 of scripts"; else echo broken >&2; exit 1; fi`)
	u.must(t, "send", "--to", "user", "--as", "builder", "--body", "kept")
	if r := u.update("--from", u.release); r.code == 0 || !strings.Contains(flat(r.stderr), "so v1.2.3 was restored") {
		t.Errorf("update: %+v", r)
	}
	if got := u.installed(t); got != "v1.2.3" {
		t.Errorf("%s is installed", got)
	}
	u.keeps(t, "kept")
}
