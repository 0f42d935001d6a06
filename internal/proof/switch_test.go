//go:build linux

package proof

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// path is how a network treats the packets from one host to another. The zero value leaves them alone.
type path struct {
	cut       bool          // none arrives, and no one is told
	delay     time.Duration // of each packet
	loss      float64       // the fraction that is lost
	reordered float64       // the fraction that is late, so that others overtake it
}

// late is how long a packet that others overtake is held back.
const late = 30 * time.Millisecond

// network has some hosts, each a network namespace with one interface, and the switch between them: it reads a
// host's packets and writes them to their destinations.
type network struct {
	spaces  []string   // the names of the namespaces
	ports   []*os.File // the other ends of their interfaces
	running sync.WaitGroup

	mu    sync.Mutex
	paths [][]path // from a host to a host
}

// address is the address of the i-th host.
func address(i int) string { return fmt.Sprint("10.97.0.", i+1) }

// newNetwork makes a network of n hosts, in namespaces whose names begin with prefix. An error says what this
// machine lacks for it.
func newNetwork(prefix string, n int) (_ *network, err error) {
	w := &network{paths: make([][]path, n)}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	for i := range n {
		w.paths[i] = make([]path, n)
		space := fmt.Sprint(prefix, i+1)
		if err := ip("netns", "add", space); err != nil {
			return nil, fmt.Errorf("a network namespace cannot be made: %w", err)
		}
		w.spaces = append(w.spaces, space)
		port, err := inSpace(space, openTun)
		if err != nil {
			return nil, fmt.Errorf("a TUN device cannot be made: %w", err)
		}
		w.ports = append(w.ports, port)
		err = errors.Join(ip("-n", space, "link", "set", "lo", "up"),
			ip("-n", space, "addr", "add", address(i)+"/24", "dev", tunName),
			ip("-n", space, "link", "set", tunName, "up"))
		if err != nil {
			return nil, fmt.Errorf("the interface of a namespace cannot be set up: %w", err)
		}
	}
	for i := range w.ports {
		w.running.Go(func() { w.carry(i) })
	}
	return w, nil
}

func ip(args ...string) error {
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

const tunName = "pp0"

// inSpace runs code that must run on a thread in a network namespace, such as opening a file that belongs there.
func inSpace[T any](space string, open func() (T, error)) (opened T, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	home, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return opened, err
	}
	defer home.Close()
	there, err := os.Open("/run/netns/" + space)
	if err != nil {
		return opened, err
	}
	defer there.Close()
	if err := unix.Setns(int(there.Fd()), unix.CLONE_NEWNET); err != nil {
		return opened, err
	}
	opened, err = open()
	if err := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); err != nil {
		panic(err) // the thread would continue in the wrong namespace
	}
	return opened, err
}

// openTun makes a TUN device, and returns its other end.
func openTun() (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("/dev/net/tun: %w", err)
	}
	request, err := unix.NewIfreq(tunName)
	if err == nil {
		request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
	}
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), tunName), nil
}

// close removes the hosts. Their processes must have ended.
func (w *network) close() {
	for _, p := range w.ports {
		p.Close()
	}
	w.running.Wait()
	for _, space := range w.spaces {
		_ = ip("netns", "del", space)
	}
}

// command returns the arguments that run a program on the i-th host.
func (w *network) command(i int, args ...string) []string {
	return append([]string{"ip", "netns", "exec", w.spaces[i]}, args...)
}

// set changes the path from a host to another.
func (w *network) set(from, to int, p path) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.paths[from][to] = p
}

// around changes all paths from and to a host.
func (w *network) around(i int, p path) {
	for j := range w.ports {
		w.set(i, j, p)
		w.set(j, i, p)
	}
}

// everywhere changes all paths.
func (w *network) everywhere(p path) {
	for i := range w.ports {
		w.around(i, p)
	}
}

// delayed is a packet, and its arrival time.
type delayed struct {
	packet []byte
	due    time.Time
}

// carry delivers the packets of a host.
func (w *network) carry(from int) {
	var carriers sync.WaitGroup
	defer carriers.Wait()
	ways := make([]chan delayed, len(w.ports))
	for to := range ways {
		ways[to] = make(chan delayed, 4096)
		defer close(ways[to])
		carriers.Go(func() {
			for d := range ways[to] {
				time.Sleep(time.Until(d.due))
				_, _ = w.ports[to].Write(d.packet)
			}
		})
	}
	for buf := make([]byte, 64<<10); ; {
		n, err := w.ports[from].Read(buf)
		if err != nil {
			return
		}
		to := destination(buf[:n])
		if to < 0 || to >= len(ways) {
			continue
		}
		w.mu.Lock()
		p := w.paths[from][to]
		w.mu.Unlock()
		if p.cut || rand.Float64() < p.loss {
			continue
		}
		d := delayed{append([]byte(nil), buf[:n]...), time.Now().Add(p.delay)}
		if rand.Float64() < p.reordered {
			time.AfterFunc(p.delay+late, func() { _, _ = w.ports[to].Write(d.packet) })
			continue
		}
		select {
		case ways[to] <- d:
		default: // more than the wire holds
		}
	}
}

// destination returns the number of the destination host of an IPv4 packet, or -1.
func destination(packet []byte) int {
	if len(packet) < 20 || packet[0]>>4 != 4 || packet[16] != 10 || packet[17] != 97 {
		return -1
	}
	return int(packet[19]) - 1
}

// TestSwitch holds that packets get from host to host, and that a path cuts one direction, delays, loses and
// reorders.
func TestSwitch(t *testing.T) {
	w, err := newNetwork(fmt.Sprintf("pps%d-", os.Getpid()), 2)
	if err != nil {
		t.Skip("this machine has no hosts in namespaces: ", err)
	}
	defer w.close()
	far, near := socketIn(t, w.spaces[1], address(1)), socketIn(t, w.spaces[0], address(0))
	// sends makes the first host send n packets, and returns those that reached the second, in order of arrival, and
	// the time of the last.
	sends := func(from, to *net.UDPConn, n int) (came []byte, took time.Duration) {
		t.Helper()
		began := time.Now()
		for i := range n {
			if _, err := from.WriteTo([]byte{byte(i)}, to.LocalAddr()); err != nil {
				t.Fatal(err)
			}
		}
		for buf := make([]byte, 10); len(came) < n; {
			_ = to.SetReadDeadline(time.Now().Add(time.Second))
			if _, err := to.Read(buf); err != nil {
				break
			}
			came, took = append(came, buf[0]), time.Since(began)
		}
		return came, took
	}
	inOrder := func(came []byte) bool {
		for i, n := range came {
			if int(n) != i {
				return false
			}
		}
		return true
	}
	if came, _ := sends(near, far, 100); len(came) != 100 || !inOrder(came) {
		t.Errorf("in peace came %v", came)
	}
	w.set(0, 1, path{cut: true})
	if came, _ := sends(near, far, 3); len(came) != 0 {
		t.Errorf("over a path that is cut came %v", came)
	}
	if came, _ := sends(far, near, 3); len(came) != 3 {
		t.Errorf("the other way came %v", came)
	}
	const delay = 100 * time.Millisecond
	w.set(0, 1, path{delay: delay})
	if came, took := sends(near, far, 50); len(came) != 50 || !inOrder(came) || took < delay {
		t.Errorf("over a slow path came %v after %v", came, took)
	}
	w.set(0, 1, path{loss: 0.5})
	if came, _ := sends(near, far, 100); len(came) < 10 || len(came) > 90 {
		t.Errorf("of 100 packets half of which are lost came %d", len(came))
	}
	w.set(0, 1, path{reordered: 0.3})
	if came, _ := sends(near, far, 100); len(came) != 100 || inOrder(came) {
		t.Errorf("over a path that reorders came %v", came)
	}
}

// socketIn opens a UDP socket in a network namespace.
func socketIn(t *testing.T, space, addr string) *net.UDPConn {
	t.Helper()
	conn, err := inSpace(space, func() (*net.UDPConn, error) {
		return net.ListenUDP("udp4", &net.UDPAddr{IP: net.ParseIP(addr)})
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}
