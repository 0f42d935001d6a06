package openalice

import (
	"bytes"

	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

func (f *files) Rejected() ([]mail.BadLine, error) {
	bad := dialect.BadLines{Dir: f.opts.Dir.Path(".")}
	if f.badMarks != nil {
		bad.Add(f.dir.Path(readsFile), 0, f.badMarks, f.markText)
	}
	err := bad.Scan(f.entries, func(line []byte) error {
		if len(bytes.TrimSpace(line)) == 0 {
			return nil
		}
		_, err := readItem(line)
		return err
	})
	return bad.List, err
}
