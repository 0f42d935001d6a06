package cli

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"pennypost/internal/mail"
)

// Input opens a file that the person names; "-" is standard input. If the file is missing, the error ends with so.
func (a *App) Input(path, so string) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(a.Env.Stdin), nil
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, mail.Errorf(mail.NotFound, "there is no file %s%s", path, so)
	}
	return file, err
}
