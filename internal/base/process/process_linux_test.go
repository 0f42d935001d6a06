package process

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestMain lets the test start itself below a shell.
func TestMain(m *testing.M) {
	if variable := os.Getenv("PROCESS_TEST_SETTER"); variable != "" {
		os.Stdout.WriteString(SetterDir(variable))
		return
	}
	if os.Getenv("PROCESS_TEST_SESSION") != "" {
		os.Stdout.WriteString(Session() + "\n")
		return
	}
	if os.Getenv("PROCESS_TEST") != "" {
		os.Stdout.WriteString(Program(false))
		return
	}
	os.Exit(m.Run())
}

func TestProgram(t *testing.T) {
	me := look(os.Getpid()).key()
	for _, args := range [][]string{{os.Args[0]}, {"sh", "-c", os.Args[0] + "; true"}} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env = append(os.Environ(), "PROCESS_TEST=1")
		out, err := cmd.Output()
		if got := strings.TrimSpace(string(out)); err != nil || got != me {
			t.Errorf("%q was started by %q, %v; want %q", args, got, err, me)
		}
	}
	if !Alive(me) {
		t.Errorf("%s is not alive", me)
	}
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	child := look(cmd.Process.Pid).key()
	if !Alive(child) {
		t.Errorf("the child %s is not alive", child)
	}
	above := func(pid int) (keys []string) { // up to this process
		for _, p := range Tree(pid) {
			if p.PID == os.Getpid() {
				break
			}
			keys = append(keys, p.Key)
		}
		return keys
	}
	if got := above(cmd.Process.Pid); !slices.Equal(got, []string{child}) {
		t.Errorf("above the child, up to us: %q, want %q", got, child)
	}
	if got := above(os.Getppid()); len(got) == 0 || slices.Contains(got, me) || !Is(many+got[0], got[0]) ||
		!Is(got[0], got[0]) || Is(child, got[0]) {
		t.Errorf("above us: %q", got)
	}
	us, it := Tree(os.Getpid())[0], Tree(cmd.Process.Pid)[0]
	if !us.Above(it.PID) || !us.Above(us.PID) || it.Above(us.PID) {
		t.Errorf("%s above %s: %v, the other way round: %v", us.Key, it.Key, us.Above(it.PID), it.Above(us.PID))
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if got := above(cmd.Process.Pid); got != nil {
		t.Errorf("above who is gone: %q", got)
	}
	number, _, _ := strings.Cut(me, ".")
	for _, gone := range []string{child, "", "x", number + ".1@" + Boot(), strings.Replace(me, "@", "@x", 1),
		many + me} {
		if Alive(gone) {
			t.Errorf("%q is alive", gone)
		}
	}
}

func TestApart(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID}
	if err := cmd.Start(); err != nil {
		t.Skip("this system makes no sandboxes: ", err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	if !Apart(cmd.Process.Pid) || Apart(os.Getppid()) || Apart(os.Getpid()) {
		t.Errorf("apart: a sandbox %v, our parent %v, we %v", Apart(cmd.Process.Pid), Apart(os.Getppid()),
			Apart(os.Getpid()))
	}
}

// A variable comes from the program that lacks it, whatever the working directory of those in between.
func TestSetterDir(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for variable, want := range map[string]string{"PROCESS_TEST_SETTER": here, "PROCESS_TEST_NOBODY": "/"} {
		cmd := exec.Command("sh", "-c", "cd /; "+os.Args[0]+"; true")
		cmd.Env = append(os.Environ(), "PROCESS_TEST_SETTER="+variable)
		if out, err := cmd.Output(); err != nil || string(out) != want {
			t.Errorf("%s is from %q, %v; want %q", variable, out, err, want)
		}
	}
}

// TestSession checks that everything started from one terminal is one session, and another terminal another.
func TestSession(t *testing.T) {
	run := func() []string {
		cmd := exec.Command("sh", "-c", os.Args[0]+"; sh -c '"+os.Args[0]+"; true'")
		cmd.Env = append(os.Environ(), "PROCESS_TEST_SESSION=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Fields(string(out))
	}
	one, other := run(), run()
	if len(one) != 2 || one[0] != one[1] || slices.Contains(other, one[0]) || one[0] == Session() {
		t.Errorf("sessions %q and %q; here %q", one, other, Session())
	}
}

// TestEnded checks which programs are known to have ended.
func TestEnded(t *testing.T) {
	me := look(os.Getpid()).key()
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	child := look(cmd.Process.Pid).key()
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil || Ended(child) {
		t.Errorf("%s, which is stopped, has ended; %v", child, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	_, boot, _ := strings.Cut(me, "@")
	if Seen(me) != me || !IsUnseen(Seen(child)) {
		t.Errorf("of those that say that they run, we are %q and the child is %q", Seen(me), Seen(child))
	}
	for program, want := range map[string]bool{
		me: false, child: true,
		strings.Replace(me, ".", ".1", 1): true, // its number now belongs to another
		many + child:                      false,
		Seen(child):                       false,
		"1.2@elsewhere":                   false,
		Seen("1.2@elsewhere"):             false,
		"":                                false, "1": false, "x@" + boot: false,
	} {
		if got := Ended(program); got != want {
			t.Errorf("%q has ended: %v, want %v", program, got, want)
		}
	}
}
