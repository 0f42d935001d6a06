// Command mutations breaks Pennypost on purpose, one line at a time, and reports whether a test notices:
//
//	go run ./scripts/mutations [-j N] [-v] [NAME...]
//
// Each mutation of the table breaks a promise of docs/design.md, and names the test that must fail then. The files of
// the tree stay as they are: the compiler is given the changed one instead. The command fails unless all are killed.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// A mutation is one change to the code by which it breaks a promise.
type mutation struct {
	name   string
	breaks string // the promise, and what a user would notice
	file   string // from the root of the tree
	old    string // occurs once in the file
	new    string
	pkg    string // of the test, from the root of the tree
	test   string // a subtest is named after a slash
}

// The outcomes of a mutation.
const (
	killed   = "killed"
	survived = "SURVIVED"
	stale    = "stale" // the code to change, or the test, is not there
	broken   = "does not build"
)

func main() {
	atOnce := flag.Int("j", 2, "how many mutations to try at once")
	verbose := flag.Bool("v", false, "print what the tests print that kill")
	flag.Parse()
	if err := run(flag.Args(), *atOnce, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "mutations:", err)
		os.Exit(1)
	}
}

func run(names []string, atOnce int, verbose bool) error {
	chosen, err := choose(names)
	if err != nil {
		return err
	}
	began := time.Now()
	var (
		mu     sync.Mutex
		failed []string
		trying sync.WaitGroup
	)
	slots := make(chan struct{}, max(1, atOnce))
	for _, m := range chosen {
		slots <- struct{}{}
		trying.Go(func() {
			defer func() { <-slots }()
			start := time.Now()
			outcome, why := try(m)
			mu.Lock()
			defer mu.Unlock()
			fmt.Printf("%-14s %4.0f s  %-26s %s\n", outcome, time.Since(start).Seconds(), m.name, m.breaks)
			if outcome != killed {
				failed = append(failed, m.name)
			}
			if outcome != killed || verbose {
				fmt.Print(why)
			}
		})
	}
	trying.Wait()
	all := len(chosen)
	fmt.Printf("%d of %d mutations killed in %.0f s\n", all-len(failed), all, time.Since(began).Seconds())
	if len(failed) > 0 {
		slices.Sort(failed)
		return fmt.Errorf("not killed: %s", strings.Join(failed, " "))
	}
	return nil
}

// choose returns the named mutations, or all if none is named.
func choose(names []string) ([]mutation, error) {
	if len(names) == 0 {
		return table, nil
	}
	var chosen []mutation
	for _, name := range names {
		i := slices.IndexFunc(table, func(m mutation) bool { return m.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no mutation %q", name)
		}
		chosen = append(chosen, table[i])
	}
	return chosen, nil
}

// try builds the test with the mutation and runs it. What the compiler or the test printed is in why.
func try(m mutation) (outcome, why string) {
	dir, err := os.MkdirTemp("", "mutation-")
	if err != nil {
		return broken, err.Error() + "\n"
	}
	defer os.RemoveAll(dir)
	overlay, err := mutate(m, dir)
	if err != nil {
		return stale, err.Error() + "\n"
	}
	program := filepath.Join(dir, "program.test")
	build := exec.Command("go", "test", "-c", "-overlay", overlay, "-ldflags=-s -w", "-o", program, "./"+m.pkg)
	if out, err := build.CombinedOutput(); err != nil {
		return broken, string(out)
	}
	test := exec.Command(program, "-test.run", pattern(m.test), "-test.v", "-test.count=1", "-test.timeout=120s")
	test.Dir = m.pkg
	out, err := test.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return killed, string(out)
	case err != nil:
		return broken, err.Error() + "\n"
	case !bytes.Contains(out, []byte("--- PASS: "+m.test+" (")):
		return stale, "the test was not run:\n" + string(out)
	}
	return survived, ""
}

// mutate writes the changed file, and what tells the compiler to take it, into dir.
func mutate(m mutation, dir string) (overlay string, err error) {
	src, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	text, err := m.in(string(src))
	if err != nil {
		return "", err
	}
	changed := filepath.Join(dir, filepath.Base(m.file))
	if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
		return "", err
	}
	path, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, replace, 0o600)
}

// in returns the text of the file with the mutation.
func (m *mutation) in(src string) (string, error) {
	if n := strings.Count(src, m.old); n != 1 {
		return "", fmt.Errorf("the text to change is %d times in %s", n, m.file)
	}
	return strings.Replace(src, m.old, m.new, 1), nil
}

// pattern matches one test, or one subtest, for -test.run.
func pattern(test string) string {
	parts := strings.Split(test, "/")
	for i, part := range parts {
		parts[i] = "^" + part + "$"
	}
	return strings.Join(parts, "/")
}
