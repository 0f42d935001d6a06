package dialect

import (
	"errors"
	"io/fs"

	"pennypost/internal/base/durable"
	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// Own is a file in FilesOptions.State in which Files keep, as JSON, what the format has no place for.
type Own struct {
	Path string
	Has  string // what is kept there, for an error
}

// Load reads the file. One that is not there says nothing.
func (o Own) Load(into any) error {
	text, err := durable.ReadFile(o.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = jsonx.Unmarshal(text, into)
	}
	if err != nil {
		return mail.Errorf(mail.Unavailable, "%s, where Pennypost keeps %s, cannot be read: %w", o.Path, o.Has, err)
	}
	return nil
}

// Save writes the file, durably.
func (o Own) Save(v any) error {
	text, err := jsonx.Marshal(v)
	if err == nil {
		err = durable.WriteFile(o.Path, text, 0o600)
	}
	if err != nil {
		return mail.Errorf(mail.Unavailable, "%s, where Pennypost keeps %s, cannot be written: %w. Nothing is lost; "+
			"it is tried again", o.Path, o.Has, err)
	}
	return nil
}
