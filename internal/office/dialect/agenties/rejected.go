package agenties

import (
	"bytes"

	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

func (f *files) Rejected() ([]mail.BadLine, error) {
	bad := dialect.BadLines{Dir: f.opts.Dir.Path(".")}
	err := bad.Scan(f.mailbox, func(line []byte) error {
		if len(bytes.TrimSpace(line)) == 0 {
			return nil
		}
		_, err := translate(line)
		return err
	})
	return bad.List, err
}
