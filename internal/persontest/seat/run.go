//go:build linux

package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
)

// run runs the requested commands until the terminal is closed.
func run(dir string) error {
	// A command runs in the background of the terminal, and must not be stopped for using it.
	signal.Ignore(syscall.SIGTTIN, syscall.SIGTTOU)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "socket")})
	if err != nil {
		return err
	}
	running := groups{ids: map[int]bool{}}
	closed := make(chan os.Signal, 1)
	signal.Notify(closed, syscall.SIGHUP, syscall.SIGTERM)
	go func() {
		<-closed
		running.mu.Lock() // forever: nothing starts any more
		for id := range running.ids {
			_ = syscall.Kill(-id, syscall.SIGKILL)
		}
		os.Exit(0)
	}()
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close()
			if err := obey(conn, &running); err != nil {
				fmt.Println(err) // shown in the xterm
			}
		}()
	}
}

// groups are the process groups of the running commands.
type groups struct {
	mu  sync.Mutex
	ids map[int]bool
}

// start starts a command in its own group, and registers it under the lock, so that closing the terminal cannot miss
// it.
func (g *groups) start(cmd *exec.Cmd) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	err := cmd.Start()
	if err == nil {
		g.ids[cmd.Process.Pid] = true
	}
	return err
}

func (g *groups) ended(id int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.ids, id)
}

// obey runs one command. It reads an order and then signals from its proxy, and sends the exit status back.
func obey(conn *net.UnixConn, running *groups) error {
	files, err := receiveFiles(conn)
	if err != nil {
		return err
	}
	defer closeAll(files)
	o, err := readOrder(conn)
	if err != nil {
		return err
	}
	cmd := &exec.Cmd{Path: o.program, Args: o.args, Env: o.env, Dir: o.dir,
		Stdin: files[0], Stdout: files[1], Stderr: files[2], SysProcAttr: &syscall.SysProcAttr{Setpgid: true}}
	err = running.start(cmd)
	closeAll(files)
	if err != nil {
		return err
	}
	group := cmd.Process.Pid
	defer running.ended(group)
	var ended atomic.Bool
	go func() {
		for signals := make([]byte, 1); ; {
			if _, err := conn.Read(signals); err != nil {
				if !ended.Load() { // the proxy was killed
					_ = syscall.Kill(-group, syscall.SIGKILL)
				}
				return
			}
			_ = cmd.Process.Signal(syscall.Signal(signals[0]))
		}
	}()
	err = cmd.Wait()
	ended.Store(true)
	if cmd.ProcessState == nil {
		return err
	}
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	_, err = conn.Write([]byte{byte(status), byte(status >> 8)})
	return err
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// receiveFiles reads the first byte of an order, which carries its files.
func receiveFiles(conn *net.UnixConn) ([]*os.File, error) {
	oob := make([]byte, syscall.CmsgSpace(3*4))
	_, n, _, _, err := conn.ReadMsgUnix(make([]byte, 1), oob)
	if err != nil {
		return nil, err
	}
	messages, err := syscall.ParseSocketControlMessage(oob[:n])
	if err != nil || len(messages) != 1 {
		return nil, errors.Join(err, errors.New("an order without files"))
	}
	descriptors, err := syscall.ParseUnixRights(&messages[0])
	if err != nil || len(descriptors) != 3 {
		return nil, errors.Join(err, errors.New("an order without its files"))
	}
	var files []*os.File
	for _, d := range descriptors {
		syscall.CloseOnExec(d)
		files = append(files, os.NewFile(uintptr(d), "file"))
	}
	return files, nil
}
