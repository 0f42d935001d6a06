//go:build linux

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// patience is the time allowed for opening a display or an xterm.
const patience = 30 * time.Second

// detach starts the host and exits, which leaves the host without a parent.
func detach(self, dir string) error {
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "host", dir)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{os.NewFile(3, "test"), os.NewFile(4, "word")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd.Start()
}

// host keeps the terminal open until the test closes it or ends.
func host(self, dir string) error {
	runtime.LockOSThread() // Pdeathsig depends on this thread
	test, word := os.NewFile(3, "test"), os.NewFile(4, "word")
	syscall.CloseOnExec(3)
	syscall.CloseOnExec(4)
	defer os.RemoveAll(dir)
	server, display, err := openDisplay()
	if err != nil {
		fmt.Fprintln(word, err)
		return err
	}
	defer end(server)
	window := exec.Command("xterm", "-display", display, "-e", self, "run", dir)
	window.Stdout, window.Stderr = os.Stdout, os.Stderr
	window.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := window.Start(); err != nil {
		fmt.Fprintln(word, err)
		return err
	}
	defer end(window)
	socket := filepath.Join(dir, "socket")
	for deadline := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			conn.Close()
			break
		}
		if time.Now().After(deadline) {
			said, _ := os.ReadFile(filepath.Join(dir, "log"))
			fmt.Fprintf(word, "xterm does not run a program: %s", said)
			return err
		}
	}
	fmt.Fprintln(word, "open", display)
	_, err = io.Copy(io.Discard, test)
	return err
}

// openDisplay starts an X server with a virtual screen, and returns its display name.
func openDisplay() (*exec.Cmd, string, error) {
	number, theirs, err := os.Pipe()
	if err != nil {
		return nil, "", err
	}
	defer number.Close()
	defer theirs.Close()
	cmd := exec.Command("Xvfb", "-displayfd", "3", "-nolisten", "tcp", "-screen", "0", "1024x768x24")
	cmd.Stderr = os.Stderr
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	theirs.Close()
	_ = number.SetReadDeadline(time.Now().Add(patience))
	line, err := bufio.NewReader(number).ReadString('\n')
	if err != nil {
		end(cmd)
		return nil, "", errors.New("no display was opened by Xvfb")
	}
	return cmd, ":" + strings.TrimSpace(line), nil
}

// end ends a program that must clean up its own files.
func end(cmd *exec.Cmd) {
	_ = cmd.Process.Signal(syscall.SIGTERM)
	late := time.AfterFunc(5*time.Second, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	_ = cmd.Wait()
}
