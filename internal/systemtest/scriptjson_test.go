package systemtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// rawArgs are the arguments of a tool as a script wrote them.
func rawArgs(args []string) json.RawMessage {
	if len(args) == 0 {
		return json.RawMessage(`{}`)
	}
	return json.RawMessage(args[0])
}

// value looks up a path such as messages.0.id in JSON. A string is returned as it is, everything else as JSON; "len"
// is the length of a list, and a missing value is "".
func value(text, path string) (string, error) {
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return "", fmt.Errorf("standard output: %w", err)
	}
	for word := range strings.SplitSeq(path, ".") {
		switch at := v.(type) {
		case map[string]any:
			v = at[word]
		case []any:
			n, err := strconv.Atoi(word)
			switch {
			case word == "len":
				v = len(at)
			case err != nil || n >= len(at):
				return "", fmt.Errorf("no %s in a list of %d", word, len(at))
			default:
				v = at[n]
			}
		case nil:
			return "", nil
		default:
			return "", fmt.Errorf("no %s in %v", word, at)
		}
	}
	if s, ok := v.(string); ok || v == nil {
		return s, nil
	}
	b, err := json.Marshal(v)
	return string(b), err
}

func cmdIs(_ *stage, ts *testscript.TestScript, args []string) error {
	if len(args) != 2 {
		return errors.New("usage: is PATH VALUE")
	}
	got, err := value(ts.ReadFile("stdout"), args[0])
	if err == nil && got != args[1] {
		err = fmt.Errorf("%s is %q, want %q", args[0], got, args[1])
	}
	return err
}

func cmdLet(_ *stage, ts *testscript.TestScript, args []string) error {
	if len(args) != 2 {
		return errors.New("usage: let NAME PATH")
	}
	got, err := value(ts.ReadFile("stdout"), args[1])
	if err == nil && got == "" {
		err = errors.New("it is not there")
	}
	ts.Setenv(args[0], got)
	return err
}

func cmdDaemons(s *stage, _ *testscript.TestScript, args []string) error {
	want, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	got := -1
	for deadline := time.Now().Add(patience); got != want &&
		time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		got = len(s.daemons())
	}
	if got != want {
		return fmt.Errorf("%d post offices", got)
	}
	return nil
}

func cmdUntil(_ *stage, ts *testscript.TestScript, args []string) error {
	if len(args) < 2 {
		return errors.New("usage: until TEXT COMMAND [ARG...]")
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		err := ts.Exec(args[1], args[2:]...)
		switch {
		case err == nil && strings.Contains(ts.ReadFile("stdout"), args[0]):
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("not said within %s: %q", patience, args[0])
		}
	}
}
