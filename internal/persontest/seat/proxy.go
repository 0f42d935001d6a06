//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// stand has the program that dir is about run in the terminal, and ends as it does.
func stand(dir string) {
	program, err := os.Readlink(filepath.Join(dir, "real"))
	if err == nil && isAgents(os.Args[1:]) {
		err = syscall.Exec(program, os.Args, os.Environ())
	}
	var status syscall.WaitStatus
	if err == nil {
		status, err = runThere(filepath.Join(filepath.Dir(dir), "socket"), program)
	}
	switch {
	case err != nil:
		fail(err)
	case status.Signaled():
		signal.Reset(status.Signal())
		_ = syscall.Kill(os.Getpid(), status.Signal())
		select {}
	default:
		os.Exit(status.ExitStatus())
	}
}

// verbs are the commands that are no person's.
var verbs = []string{"serve", "relay", "poster", "mcp", "hook"}

// isAgents reports whether an agent runs this, or whether it is the post office.
func isAgents(args []string) bool {
	name, verb := os.Getenv("PENNYPOST_AGENT"), ""
	for i, a := range args {
		if a == "--" {
			break
		}
		value, is := strings.CutPrefix(a, "--as=")
		if a == "--as" && i+1 < len(args) {
			value, is = args[i+1], true
		}
		if is {
			name = value
		}
		if verb == "" && !strings.HasPrefix(a, "-") && (i == 0 || args[i-1] != "--room" && args[i-1] != "--as") {
			verb = a
		}
	}
	switch name {
	case "user":
		return verb == "serve"
	case "":
		return slices.Contains(verbs, verb)
	}
	return true
}

// runThere has a program run in the terminal, hands signals on to it, and returns how it ended.
func runThere(socket, program string) (syscall.WaitStatus, error) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1,
		syscall.SIGUSR2, syscall.SIGCONT)
	dir, err := os.Getwd()
	if err != nil {
		return 0, err
	}
	conn, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	if err := syscall.Connect(conn, &syscall.SockaddrUnix{Name: socket}); err != nil {
		return 0, fmt.Errorf("the terminal is closed: %w", err)
	}
	o := order{program: program, dir: dir, args: os.Args, env: os.Environ()}
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
