package openalice

import (
	"bytes"
	"slices"
	"strconv"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// marks is the content of read-state.json, with all foreign members in their order.
type marks struct {
	top  dialect.Object // includes "read", for its position only
	read dialect.Object // by id: when it was read, in milliseconds
}

// parseMarks parses read-state.json; an empty text has no read entries.
func parseMarks(text []byte) (*marks, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte(`{"version":1,"read":{}}`)
	}
	top, err := jsonx.Members(text)
	if err != nil {
		return nil, err
	}
	m := &marks{top: top}
	if read := m.top.Value("read"); read != nil {
		m.read, err = jsonx.Members(read)
	}
	return m, err
}

// encode prints m as JSON.stringify does with two spaces, and a newline.
func (m *marks) encode() []byte {
	m.top.Put("read", m.read.Lines("    ", "  "))
	return append(m.top.Lines("  ", ""), '\n')
}

func named(name string) func(jsonx.Member) bool {
	return func(m jsonx.Member) bool { return m.Name == name }
}

// instant parses the time of a marker, or returns 0.
func instant(v jsonx.Value) mail.Time {
	var ms float64
	if jsonx.Unmarshal(v, &ms) != nil || ms < 0 || ms > latest {
		return 0
	}
	return mail.Time(ms)
}

// set marks an entry as read, and reports whether it was unread.
func (m *marks) set(id mail.ID, at mail.Time) bool {
	if m.read.Find(string(id)) >= 0 {
		return false
	}
	m.read.Put(string(id), strconv.AppendInt(nil, int64(at), 10))
	return true
}

// drop removes an entry's marker, and reports whether there was one.
func (m *marks) drop(id mail.ID) bool {
	n := len(m.read)
	m.read = slices.DeleteFunc(m.read, named(string(id)))
	return len(m.read) < n
}
