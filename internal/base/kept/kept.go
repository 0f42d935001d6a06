// Package kept keeps small files that only their owner may read: data that a program needs after a restart.
package kept

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"pennypost/internal/base/durable"
	"pennypost/internal/base/jsonx"
)

// mode is that of every file: they hold secrets.
const mode = 0o600

// read returns the content of a file, and makes it private. A missing file has none.
func read(path string) ([]byte, error) {
	text, err := durable.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = os.Chmod(path, mode)
	}
	return text, err
}

// Load reads v, a pointer, as JSON from the file at path. If the file is missing, v stays unchanged.
func Load(path string, v any) error {
	text, err := read(path)
	if text == nil || err != nil {
		return err
	}
	return jsonx.Unmarshal(text, v)
}

// Save writes v as JSON to the file at path. If it returns nil, that is durable; otherwise the file is unchanged.
func Save(path string, v any) error {
	text, err := jsonx.Marshal(v)
	if err != nil {
		return err
	}
	return durable.WriteFile(path, append(text, '\n'), mode)
}

// Word returns the word in the file at path. If the file is missing, Word creates it with the word that made returns.
// A word for which good is false is an error; what names the word in errors.
func Word(path, what string, made func() string, good func(string) bool) (string, error) {
	text, err := read(path)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", what, err)
	}
	if text == nil {
		word := made()
		return word, durable.WriteFile(path, []byte(word+"\n"), mode)
	}
	word := strings.TrimSpace(string(text))
	if !good(word) {
		return "", fmt.Errorf("%s does not contain %s. Remove the file; a new one is created at the "+
			"next start", path, what)
	}
	return word, nil
}
