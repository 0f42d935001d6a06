package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"pennypost/bench/drive"
)

// rival is a system of bench/rivals, in a process that runs the jobs itself.
type rival struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	jobs    *json.Encoder
	answers *json.Decoder
}

func startRival(name string) func(*bench, string) (worker, error) {
	return func(b *bench, dir string) (worker, error) {
		program, err := b.build("bench/rivals", ".")
		if err != nil {
			return nil, err
		}
		r := &rival{cmd: exec.Command(program, name, dir)}
		r.cmd.Stderr = os.Stderr
		if r.in, err = r.cmd.StdinPipe(); err != nil {
			return nil, err
		}
		out, err := r.cmd.StdoutPipe()
		if err != nil {
			return nil, err
		}
		r.jobs, r.answers = json.NewEncoder(r.in), json.NewDecoder(out)
		return r, r.cmd.Start()
	}
}

// build builds a package in a directory of the project, once, and returns the program.
func (b *bench) build(in, pkg string) (string, error) {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", errors.New("cannot be built outside of the project's directory")
	}
	program := filepath.Join(b.dir, filepath.Base(in)+filepath.Base(pkg)+".program")
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, pkg)
	cmd.Dir = filepath.Join(string(root[:len(root)-1]), in)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build %s: %w\n%s", in, err, out)
	}
	return program, nil
}

func (r *rival) do(j drive.Job) (drive.Result, error) {
	if err := r.jobs.Encode(j); err != nil {
		return drive.Result{}, err
	}
	var a drive.Answer
	if err := r.answers.Decode(&a); err != nil {
		return drive.Result{}, err
	}
	switch {
	case a.Unsupported:
		return a.Result, errors.ErrUnsupported
	case a.Error != "":
		return a.Result, errors.New(a.Error)
	}
	return a.Result, nil
}

func (r *rival) stop() {
	_ = r.in.Close()
	_ = r.cmd.Wait()
}
