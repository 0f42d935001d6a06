//go:build linux

package proof

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Time limits of a post office.
const (
	startWithin = 60 * time.Second // enough to read a big journal on a busy machine
	stopWithin  = 10 * time.Second // the promise for SIGTERM
)

// office is a post office under test: its directories, and the process that serves at the moment.
type office struct {
	name    string // of the machine that it plays
	config  string // its own part of the configuration
	root    string // everything of this run except the records is below it; short, for the socket's path
	home    string // PENNYPOST_HOME
	records string // the directory of files that outlive the run
	binary  string
	person  string // runs binary in a person's terminal
	listen  string // the TCP address, the same over all restarts
	// within are the words before each command that run it on this machine's own host, if it has one.
	within []string

	// Owned by the nemesis, and by the run before and after it.
	cmd  *exec.Cmd
	done chan error // the result of Wait
	peak int        // highest resident set of any process so far, in kB
}

// newOffice makes the directories. The home is its own file system if possible, so that it can be full.
func newOffice(name, records string) (*office, error) {
	root, err := os.MkdirTemp("/tmp", "ppp")
	if err != nil {
		return nil, err
	}
	o := &office{name: name, root: root, home: filepath.Join(root, "home"), records: records,
		binary: filepath.Join(root,
			"pennypost")}
	for _, dir := range []string{o.home, filepath.Join(root, "work")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
	}
	if mountErr := mountHome(o.home); mountErr == nil {
		err = os.Chmod(o.home, 0o700)
	}
	l, listenErr := net.Listen("tcp", "127.0.0.1:0")
	if err = errors.Join(err, listenErr); err != nil {
		return nil, err
	}
	o.listen = l.Addr().String()
	return o, l.Close()
}

// environ is the environment of every process of this office. It has nothing of the test's own: that may run inside
// an agent client.
func (o *office) environ() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(o.root, "nobody"), "TMPDIR=/tmp",
		"PENNYPOST_HOME=" + o.home, "PENNYPOST_AUTOSTART=0",
		clockVariable + "=" + o.clock(),
	}
}

// clock is the file by which the nemesis steps the clock of the post office.
func (o *office) clock() string { return filepath.Join(o.root, "clock") }

func (o *office) command(ctx context.Context, args ...string) *exec.Cmd {
	words := append(append(o.within[:len(o.within):len(o.within)], o.binary), args...)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = filepath.Join(o.root, "work"), o.environ(), 5*time.Second
	return cmd
}

// start starts the post office and returns when it is open.
func (o *office) start() error {
	log, err := os.OpenFile(filepath.Join(o.records, o.name+".log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := o.command(context.Background(), "serve", "--json", "--listen="+o.listen)
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	o.cmd, o.done = cmd, make(chan error, 1)
	open := make(chan error, 1)
	go func() {
		_, err := bufio.NewReader(out).ReadBytes('\n') // it prints its address when it listens
		open <- err
		o.done <- cmd.Wait()
	}()
	select {
	case err = <-open:
	case <-time.After(startWithin):
		err = fmt.Errorf("silent for %v", startWithin)
	}
	if err != nil {
		o.kill()
		return fmt.Errorf("the post office does not start (see its log): %w", err)
	}
	return nil
}

func (o *office) pid() int { return o.cmd.Process.Pid }

// kill ends the post office as a power cut does.
func (o *office) kill() {
	if o.cmd == nil {
		return
	}
	o.note()
	_ = o.cmd.Process.Kill() // it may have ended by itself
	<-o.done
	o.cmd = nil
}

// stop ends the post office as a person does.
func (o *office) stop() error {
	o.note()
	began := time.Now()
	if err := o.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case err := <-o.done:
		o.cmd = nil
		if took := time.Since(began); err == nil && took > stopWithin {
			err = fmt.Errorf("it took %v", took.Round(time.Millisecond))
		}
		return err
	case <-time.After(3 * stopWithin):
		_ = o.cmd.Process.Signal(syscall.SIGQUIT) // its goroutines, into the log
		time.AfterFunc(5*time.Second, func() { _ = o.cmd.Process.Kill() })
		<-o.done
		o.cmd = nil
		return fmt.Errorf("it was still there after %v; its goroutines are in its log", 3*stopWithin)
	}
}

// died returns how the process ended by itself, nil if it still runs.
func (o *office) died() error {
	select {
	case err := <-o.done:
		o.done <- err
		return fmt.Errorf("the post office ended by itself: %v", err)
	default:
		return nil
	}
}

var highWater = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// note records the memory of the process before it ends.
func (o *office) note() {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", o.pid()))
	if m := highWater.FindSubmatch(status); m != nil {
		kB, _ := strconv.Atoi(string(m[1]))
		o.peak = max(o.peak, kB)
	}
}

// descriptors counts the files that the post office has open.
func (o *office) descriptors() int {
	list, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", o.pid()))
	return len(list)
}

// clear ends what is left and removes the directories; with keep it saves the home among the records first.
func (o *office) clear(keep bool) {
	o.kill()
	if keep {
		_ = exec.Command("cp", "-a", o.home, filepath.Join(o.records, "home-"+o.name)).Run()
	}
	_ = syscall.Unmount(o.home, syscall.MNT_DETACH)
	os.RemoveAll(o.root)
}

// homeSize is the capacity of the home if it is its own file system. Only the used part takes memory.
const homeSize = "8g"

func mountHome(dir string) error { return syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+homeSize) }

// resizeHome sets the size of the home's file system.
func (o *office) resizeHome(size string) error {
	return syscall.Mount("tmpfs", o.home, "tmpfs", syscall.MS_REMOUNT, "size="+size)
}

// mounted reports whether the home is its own file system.
func (o *office) mounted() bool {
	var home, above syscall.Stat_t
	return syscall.Stat(o.home, &home) == nil && syscall.Stat(o.root, &above) == nil && home.Dev != above.Dev
}

// clockVariable names the file in which a binary built for this test finds the offset of its clock in seconds.
const clockVariable = "PENNYPOST_PROOF_CLOCK"

// skewed is the additional file of package mail in such a binary. The product has nothing of the kind.
const skewed = `package mail

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// Skewed is TimeOf on a clock that a test steps.
func Skewed(t time.Time) Time {
	text, _ := os.ReadFile(os.Getenv("` + clockVariable + `"))
	off, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return TimeOf(t.Add(time.Duration(off) * time.Second))
}
`

// stamps matches the expression with which the program takes the time of a record. Deadlines and intervals use a
// clock that no step moves.
var stamps = regexp.MustCompile(`mail\.TimeOf\(([\w.]+\.Now\(\))\)`)

// build builds the program with a clock that can be stepped: an overlay, for the compiler only, replaces the code
// that stamps records.
func (o *office) build() error {
	top, err := filepath.Abs("../..")
	if err != nil {
		return err
	}
	texts := map[string]string{filepath.Join(top, "internal/mail/skewed.go"): skewed}
	err = filepath.WalkDir(filepath.Join(top, "internal"), func(path string, d os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
			strings.Contains(path, "/cli/") {
			return err
		}
		text, err := os.ReadFile(path)
		if stamps.Match(text) {
			texts[path] = stamps.ReplaceAllString(string(text), "mail.Skewed($1)")
		}
		return err
	})
	if err != nil || len(texts) < 3 {
		return errors.Join(err, fmt.Errorf("%d files stamp records; the clock cannot be stepped", len(texts)-1))
	}
	replace := make(map[string]string)
	for path, text := range texts {
		replace[path] = filepath.Join(o.root, fmt.Sprintf("overlay%d.go", len(replace)))
		if err := os.WriteFile(replace[path], []byte(text), 0o600); err != nil {
			return err
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err == nil {
		err = os.WriteFile(filepath.Join(o.root, "overlay.json"), list, 0o600)
	}
	if err != nil {
		return err
	}
	cmd := exec.Command("go", "build", "-overlay", filepath.Join(o.root, "overlay.json"), "-o", o.binary, "../..")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	o.person, err = seat.Program(o.binary)
	return err
}

// stepClock sets the offset of the post office's clock.
func (o *office) stepClock(off time.Duration) error {
	part := o.clock() + ".part"
	if err := os.WriteFile(part, []byte(strconv.Itoa(int(off.Seconds()))), 0o600); err != nil {
		return err
	}
	return os.Rename(part, o.clock())
}

// output collects the output of a process, for a concurrent reader.
type output struct {
	mu   sync.Mutex
	text []byte
}

func (b *output) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = append(b.text, p...)
	return len(p), nil
}

func (b *output) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.text)
}
