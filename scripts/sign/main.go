// Command sign makes the keys and the signatures of releases:
//
//	go run ./scripts/sign new             a key: both halves
//	go run ./scripts/sign VERSION FILE    FILE.minisig, by the secret key in $PENNYPOST_RELEASE_KEY
//
// The secret half belongs in the secrets of the repository, and nowhere else. The public half belongs in
// internal/office/update/key.go, and is minisign's -P.
package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"

	"pennypost/internal/base/minisign"
	"pennypost/internal/office/update"
)

// keyVariable has the secret key.
const keyVariable = "PENNYPOST_RELEASE_KEY"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sign:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 1 && args[0] == "new":
		s, err := minisign.NewSecret(rand.Reader)
		if err != nil {
			return err
		}
		fmt.Printf("public  %s\nsecret  %s\n", s.Key, s)
		return nil
	case len(args) == 2:
		return sign(args[0], args[1])
	}
	return errors.New("usage: sign new, or sign VERSION FILE")
}

func sign(version, file string) error {
	s, err := minisign.ParseSecret(os.Getenv(keyVariable))
	if err != nil {
		return fmt.Errorf("$%s: %w", keyVariable, err)
	}
	if known, err := update.Key(); err != nil || known.String() != s.Key.String() {
		return fmt.Errorf("the programs do not know this key: write %s into internal/office/update/key.go", s.Key)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return os.WriteFile(file+".minisig", s.Sign(text, "pennypost "+version), 0o644)
}
