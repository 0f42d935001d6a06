//go:build linux

package proof

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// admits is which machines may write to the rooms of a run: those that were admitted by name, or, with every third
// seed, anyone with the servers' password.
func admits(seed uint64) string {
	if seed%3 == 0 {
		return "anyone"
	}
	return "listed"
}

// introduce types on each machine the line that admits another one, as its user does.
func introduce(offices []*office) error {
	for _, o := range offices {
		line, err := o.typed("machines", "admit")
		if err != nil {
			return err
		}
		words := strings.Fields(line)
		if len(words) < 5 || words[0] != "pennypost" {
			return fmt.Errorf("%s cannot be introduced: %s", o.name, line)
		}
		for _, at := range offices {
			if at == o {
				continue
			}
			if _, err := at.typed(words[1:5]...); err != nil {
				return err
			}
		}
	}
	return nil
}

// typed returns what a command of the user prints.
func (o *office) typed(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := o.command(ctx, args...)
	cmd.Path = o.person
	text, err := cmd.CombinedOutput()
	if err != nil {
		if _, failed := err.(*exec.ExitError); failed {
			err = fmt.Errorf("%s: %s: %s", o.name, strings.Join(args, " "), text)
		}
		return "", err
	}
	return string(text), nil
}
