//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

// stand runs the program of dir in the terminal, and ends with its status.
func stand(dir string) {
	program, err := os.Readlink(filepath.Join(dir, "real"))
	if err != nil {
		fail(err)
	}
	o := order{program: program, args: os.Args, env: os.Environ()}
	switch verb(os.Args[1:]) {
	case "serve", "relay", "poster", "hook":
		fail(syscall.Exec(program, os.Args, os.Environ()))
	case "mcp":
		o.program = filepath.Join(filepath.Dir(dir), "seat")
		o.args = append([]string{"seat", "client", program}, os.Args...)
	}
	status, err := runThere(filepath.Join(filepath.Dir(dir), "socket"), &o)
	if err != nil {
		fail(err)
	}
	endAs(status)
}

// endAs ends this process with another's status.
func endAs(status syscall.WaitStatus) {
	if status.Signaled() {
		signal.Reset(status.Signal())
		_ = syscall.Kill(os.Getpid(), status.Signal())
		select {}
	}
	os.Exit(status.ExitStatus())
}

// verb returns the Pennypost command in args.
func verb(args []string) string {
	for i, a := range args {
		if !strings.HasPrefix(a, "-") && (i == 0 || args[i-1] != "--room" && args[i-1] != "--as") {
			return a
		}
	}
	return ""
}

// forwarded are the signals passed on to a command.
func forwarded() []os.Signal {
	return []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1,
		syscall.SIGUSR2, syscall.SIGCONT}
}

// runThere runs an order in the terminal, forwards signals, and returns the program's status.
func runThere(socket string, o *order) (_ syscall.WaitStatus, err error) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, forwarded()...)
	if o.dir, err = os.Getwd(); err != nil {
		return 0, err
	}
	conn, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	if err := syscall.Connect(conn, &syscall.SockaddrUnix{Name: socket}); err != nil {
		return 0, fmt.Errorf("the terminal is closed: %w", err)
	}
	if err := syscall.Sendmsg(conn, []byte{0}, syscall.UnixRights(0, 1, 2), nil, 0); err != nil {
		return 0, err
	}
	f := os.NewFile(uintptr(conn), "terminal")
	if err := o.write(f); err != nil {
		return 0, err
	}
	go func() {
		for s := range signals {
			_, _ = f.Write([]byte{byte(s.(syscall.Signal))})
		}
	}()
	status := make([]byte, 2)
	if _, err := io.ReadFull(f, status); err != nil {
		return 0, errors.New("the terminal could not run the program, or was closed")
	}
	return syscall.WaitStatus(uint32(status[0]) | uint32(status[1])<<8), nil
}
