package dialect

import (
	"pennypost/internal/base/kept"
	"pennypost/internal/mail"
)

// Own is a file in FilesOptions.State in which Files keep, as JSON, what the format has no place for.
type Own struct {
	Path string
	Has  string // what is kept there, for an error
}

// Load reads the file. One that is not there says nothing.
func (o Own) Load(into any) error {
	if err := kept.Load(o.Path, into); err != nil {
		return mail.Errorf(mail.Unavailable, "%s, where Pennypost keeps %s, cannot be read: %w", o.Path, o.Has, err)
	}
	return nil
}

// Save writes the file, durably.
func (o Own) Save(v any) error {
	if err := kept.Save(o.Path, v); err != nil {
		return mail.Errorf(mail.Unavailable, "%s, where Pennypost keeps %s, cannot be written: %w. Nothing is lost; "+
			"it is tried again", o.Path, o.Has, err)
	}
	return nil
}
