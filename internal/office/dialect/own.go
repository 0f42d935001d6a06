package dialect

import (
	"pennypost/internal/base/kept"
	"pennypost/internal/mail"
)

// Own is a JSON file in FilesOptions.State for data that the format cannot hold.
type Own struct {
	Path string
	Has  string // its content, for an error text
}

// Load reads the file. A missing file leaves into unchanged.
func (o Own) Load(into any) error {
	if err := kept.Load(o.Path, into); err != nil {
		return mail.Errorf(mail.Unavailable, "%s, in which Pennypost keeps %s, cannot be read: %w", o.Path, o.Has,
			err)
	}
	return nil
}

// Save writes the file durably.
func (o Own) Save(v any) error {
	if err := kept.Save(o.Path, v); err != nil {
		return mail.Errorf(mail.Unavailable, "%s, in which Pennypost keeps %s, cannot be written: %w. Nothing is "+
			"lost; Pennypost will try again", o.Path, o.Has, err)
	}
	return nil
}
