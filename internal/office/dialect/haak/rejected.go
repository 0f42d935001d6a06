package haak

import (
	"pennypost/internal/base/lines"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

func (f *files) Rejected() ([]mail.BadLine, error) {
	bad := dialect.BadLines{Dir: f.o.Dir.Path(".")}
	known := f.known()
	entries := func(line []byte) error { _, err := decodeEntry(line, known); return err }
	reads := func(line []byte) error { _, err := decodeReading(line, known); return err }
	messages := func(line []byte) error { _, _, err := decodeMessage(line, known); return err }
	type file struct {
		*lines.File
		check func([]byte) error
	}
	all := []file{{f.roster, entries}, {f.reads, reads}, {f.mailbox, messages}}
	months, err := f.archived()
	if err != nil {
		return nil, err
	}
	for _, month := range months {
		all = append(all, file{f.month(month + readsSuffix), reads}, file{f.month(month), messages})
	}
	for _, one := range all {
		if err := bad.Scan(one.File, one.check); err != nil {
			return nil, err
		}
	}
	return bad.List, nil
}
