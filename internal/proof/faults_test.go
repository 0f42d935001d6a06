//go:build linux

package proof

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pennypost/internal/mail"
	"pennypost/internal/suspendtest"
)

// between returns a span in [low, high).
func between(r *rand.Rand, low, high time.Duration) time.Duration {
	return low + time.Duration(r.Int64N(int64(high-low)))
}

func (n *nemesis) killed(r *rand.Rand) error {
	n.kill()
	time.Sleep(between(r, 0, 500*time.Millisecond))
	return n.start()
}

func (n *nemesis) restarted(r *rand.Rand) error {
	if err := n.stop(); err != nil {
		return errors.Join(fmt.Errorf("SIGTERM: %w", err), n.start())
	}
	time.Sleep(between(r, 0, 500*time.Millisecond))
	return n.start()
}

// suspended stops the process, one time in four for longer than any client waits, and one time in four kills it
// while it is stopped.
func (n *nemesis) suspended(r *rand.Rand) error {
	span := between(r, 200*time.Millisecond, 3*time.Second)
	if r.IntN(4) == 0 {
		span += callWithin
	}
	kill := r.IntN(4) == 0
	if err := suspendtest.Suspend(n.pid()); err != nil {
		return err
	}
	if span > callWithin {
		n.waits()
	} else {
		time.Sleep(span)
	}
	if kill {
		n.kill()
		return n.start()
	}
	return suspendtest.Resume(n.pid())
}

// waits holds that a command ends even if the post office accepts its connection and does not answer.
func (n *nemesis) waits() {
	ctx, cancel := context.WithTimeout(context.Background(), 3*callWithin)
	defer cancel()
	began := time.Now()
	err := n.command(ctx, "inbox", "--room", "main").Run()
	if took := time.Since(began); err == nil || took > callWithin+3*time.Second {
		n.found.add("P12", "a command to a post office that does not answer took %v and ended with %v",
			took.Round(time.Millisecond), err)
	}
}

// full fills the disk, and one time in three kills the post office in that state.
func (n *nemesis) full(r *rand.Rand) error {
	var st syscall.Statfs_t
	if err := syscall.Statfs(n.home, &st); err != nil {
		return err
	}
	used := (st.Blocks - st.Bfree) * uint64(st.Bsize)
	left := uint64(r.IntN(256 << 10))
	kill := r.IntN(3) == 0
	if err := n.resizeHome(strconv.FormatUint(used+left+1, 10)); err != nil {
		return fmt.Errorf("the test cannot make the disk full: %w", err)
	}
	time.Sleep(between(r, time.Second, 3*time.Second))
	if kill {
		n.kill()
		time.Sleep(100 * time.Millisecond)
	}
	if err := n.resizeHome(homeSize); err != nil {
		return fmt.Errorf("the test cannot make room again: %w", err)
	}
	if kill {
		return n.start()
	}
	return nil
}

func needsStrace() string {
	if _, err := exec.LookPath("strace"); err != nil {
		return "there is no strace"
	}
	// A program that may not be traced here makes strace fail at once.
	if out, err := exec.Command("strace", "-o", "/dev/null", "-e", "inject=fdatasync:error=EIO:when=1",
		"true").CombinedOutput(); err != nil {
		return fmt.Sprintf("strace cannot trace here: %.100s", bytes.TrimSpace(out))
	}
	return ""
}

func (n *nemesis) syncFails(r *rand.Rand) error    { return n.inject(r, "fdatasync", "EIO") }
func (n *nemesis) writeFails(r *rand.Rand) error   { return n.inject(r, "pwrite64", "EIO") }
func (n *nemesis) noSpace(r *rand.Rand) error      { return n.inject(r, "pwrite64", "ENOSPC") }
func (n *nemesis) dirSyncFails(r *rand.Rand) error { return n.inject(r, "fsync", "EIO") }

// inject makes a system call of the post office fail for a while: each time, or every nth time.
func (n *nemesis) inject(r *rand.Rand, call, errno string) error {
	when := "1+"
	if r.IntN(2) == 0 {
		when = fmt.Sprintf("%d+%d", 1+r.IntN(5), 2+r.IntN(6))
	}
	span := between(r, 500*time.Millisecond, 2*time.Second)
	var said output
	cmd := exec.Command("strace", "-f", "-qq", "-o", "/dev/null", "-p", strconv.Itoa(n.pid()), "-e", "trace="+call,
		"-e", fmt.Sprintf("inject=%s:error=%s:when=%s", call, errno, when))
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return err
	}
	time.Sleep(span)
	_ = cmd.Process.Signal(syscall.SIGINT) // it releases the processes that it traces
	end := make(chan error, 1)
	go func() { end <- cmd.Wait() }()
	select {
	case <-end:
	case <-time.After(20 * time.Second):
		_ = cmd.Process.Kill()
		<-end
		n.log("strace did not let go: %s", said.String())
	}
	return n.survived()
}

// survived holds that the process still runs, and starts it again if it does not.
func (n *nemesis) survived() error {
	err := n.died()
	if err == nil {
		return nil
	}
	n.kill()
	return errors.Join(err, n.start())
}

// clockSteps steps the clock of records forwards or back, lets the clients work, and in half of the cases restarts
// the post office under that clock.
func (n *nemesis) clockSteps(r *rand.Rand) error {
	steps := []time.Duration{-48 * time.Hour, -time.Hour, -5 * time.Second, 40 * time.Second, 10 * time.Minute,
		time.Hour, 30 * time.Hour}
	restart := r.IntN(2) == 0
	err := n.stepClock(steps[r.IntN(len(steps))])
	time.Sleep(between(r, 500*time.Millisecond, 2*time.Second))
	if restart {
		n.kill()
		err = errors.Join(err, n.start())
		time.Sleep(500 * time.Millisecond)
	}
	return errors.Join(err, n.stepClock(0))
}

func (n *nemesis) journal(room string) string {
	return filepath.Join(n.home, "rooms", room, "mailbox.jsonl")
}

// victim is the room whose journal is damaged.
func (n *nemesis) victim(r *rand.Rand) string { return []string{"main", "cellar"}[r.IntN(2)] }

// settle is how long a post office has to notice that a file was replaced: it checks each second.
const settle = 2500 * time.Millisecond

// replaced replaces the journal with a copy, whole or without some lines, as sed -i and editors do. That must not
// lose anything.
func (n *nemesis) replaced(r *rand.Rand) error {
	room := n.victim(r)
	n.tidy(room)
	path, c := n.journal(room), copied{room: mail.RoomName(room), read: time.Since(n.began)}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if lines := bytes.SplitAfter(text, []byte("\n")); r.IntN(2) == 0 && len(lines) > 10 {
		at := r.IntN(len(lines) - 5)
		text = bytes.Join(append(append([][]byte{}, lines[:at]...), lines[at+3:]...), nil)
	}
	part := path + ".sed"
	if err := os.WriteFile(part, text, 0o600); err != nil {
		return err
	}
	if err := os.Rename(part, path); err != nil {
		return err
	}
	c.placed = time.Since(n.began)
	n.copies = append(n.copies, c)
	return n.afterwards(r)
}

func (n *nemesis) removed(r *rand.Rand) error {
	room := n.victim(r)
	n.tidy(room)
	if err := os.Remove(n.journal(room)); err != nil {
		return err
	}
	return n.afterwards(r)
}

// tidy does what a person would do about the copies that were set aside earlier: it repairs the room, and removes
// what is left of them.
func (n *nemesis) tidy(room string) {
	if err := n.probe.do(context.Background(), http.MethodPost, "/rooms/"+room+"/repair", nil, nil); err != nil {
		n.log("repair of %s: %v", room, err)
	}
	copies, _ := filepath.Glob(filepath.Join(filepath.Dir(n.journal(room)), "mailbox.foreign-*.jsonl"))
	for _, c := range copies {
		_ = os.Remove(c)
	}
}

// afterwards lets the clients work on, and then ends the post office, in one way or the other, so that only the
// files know what happened.
func (n *nemesis) afterwards(r *rand.Rand) error {
	time.Sleep(settle)
	if r.IntN(2) == 0 {
		return n.restarted(r)
	}
	return n.killed(r)
}

// linked puts a symbolic link to a file outside in place of the bridge's mailbox, or of its directory.
func (n *nemesis) linked(r *rand.Rand) error {
	outside := filepath.Join(n.root, "outside")
	target := filepath.Join(outside, "agent-mailbox.jsonl")
	const precious = "alias ls='ls --color'\n"
	err := os.MkdirAll(outside, 0o700)
	if err == nil {
		err = os.WriteFile(target, []byte(precious), 0o600)
	}
	if err != nil {
		return err
	}
	place, link := n.stranger.mailbox(), target
	if r.IntN(2) == 0 {
		place, link = filepath.Dir(place), outside
	}
	err = n.swapped(r, place, func() error { return os.Symlink(link, place) })
	text, readErr := os.ReadFile(target)
	entries, _ := os.ReadDir(outside)
	if string(text) != precious || len(entries) != 1 {
		err = errors.Join(err,
			fmt.Errorf("P10: behind a link in the bridged place %.100q was written, into %d files", text,
				len(entries)))
	}
	return errors.Join(err, readErr)
}

// piped puts a FIFO in place of the bridge's mailbox.
func (n *nemesis) piped(r *rand.Rand) error {
	place := n.stranger.mailbox()
	return n.swapped(r, place, func() error { return syscall.Mkfifo(place, 0o600) })
}

// swapped puts something else in place of a file for a while, in half of the cases over a stop, which must not hang
// because of it.
func (n *nemesis) swapped(r *rand.Rand, place string, put func() error) error {
	n.stranger.swap.Lock()
	defer n.stranger.swap.Unlock()
	kept := n.stranger.dir + ".kept"
	if err := os.Rename(place, kept); err != nil {
		return err
	}
	err := put()
	n.notHeldUp()
	time.Sleep(between(r, time.Second, 3*time.Second))
	if r.IntN(2) == 0 {
		err = errors.Join(err, n.restarted(r))
	}
	return errors.Join(err, n.putBack(place, kept))
}

// notHeldUp holds that a bridge in trouble does not delay senders. The promise is 100 ms; the machine may be busy.
func (n *nemesis) notHeldUp() {
	var took []time.Duration
	for range 7 {
		began := time.Now()
		in := map[string]any{"to": []string{"user"}, "body": "while the bridge is in trouble " + began.String()}
		if n.probe.do(context.Background(), http.MethodPost, "/rooms/harbour/messages", in, nil) == nil {
			took = append(took, time.Since(began))
		}
	}
	slices.Sort(took)
	if len(took) == 0 || took[len(took)/2] > 500*time.Millisecond {
		n.found.add("P10", "while the bridge was in trouble sends took %v", took)
	}
}

// putBack restores the real file. If the bridge made a file of its own meanwhile, a person would have to merge it; a
// bridge that refuses the path has made none.
func (n *nemesis) putBack(place, kept string) error {
	if err := os.RemoveAll(place); err != nil {
		return err
	}
	return os.Rename(kept, place)
}

// starved lowers the limit of open files of the process to just above its current number, and opens as many
// connections as it can.
func (n *nemesis) starved(r *rand.Rand) error {
	var was unix.Rlimit
	if err := unix.Prlimit(n.pid(), unix.RLIMIT_NOFILE, nil, &was); err != nil {
		return err
	}
	low := was
	low.Cur = uint64(n.descriptors() + 1 + r.IntN(8))
	if err := unix.Prlimit(n.pid(), unix.RLIMIT_NOFILE, &low, nil); err != nil {
		return err
	}
	var open []net.Conn
	for range 40 {
		if c, err := net.DialTimeout("tcp", n.listen, time.Second); err == nil {
			open = append(open, c)
		}
	}
	time.Sleep(between(r, time.Second, 3*time.Second))
	for _, c := range open {
		c.Close()
	}
	if err := n.survived(); err != nil {
		return err
	}
	return unix.Prlimit(n.pid(), unix.RLIMIT_NOFILE, &was, nil)
}

// linesOf splits a file into its lines, ends included.
func linesOf(path string) ([][]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return bytes.SplitAfter(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")), nil
}

// joined puts an error of several parts on one line.
func joined(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
