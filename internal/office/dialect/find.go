package dialect

import (
	"strings"

	"pennypost/internal/mail"
)

// Find returns the dialect called name.
func Find(all []Dialect, name string) (*Dialect, error) {
	var names []string
	for i := range all {
		if all[i].Name == name {
			return &all[i], nil
		}
		names = append(names, all[i].Name)
	}
	return nil, mail.Errorf(mail.NotFound, "no dialect %q; the dialects are %s", name,
		strings.Join(names, ", "))
}
