package openalice

import (
	"bytes"
	"slices"
	"strconv"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// marks is the content of read-state.json, with all that somebody else put there, in its order.
type marks struct {
	top  dialect.Object // "read" among them, for its place only
	read dialect.Object // by id: when it was read, in milliseconds
}

// parseMarks reads read-state.json; nothing at all means that nothing is read.
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

// encode writes m as JSON.stringify does with two spaces, and a newline.
func (m *marks) encode() []byte {
	m.top.Put("read", m.read.Lines("    ", "  "))
	return append(m.top.Lines("  ", ""), '\n')
}

func named(name string) func(jsonx.Member) bool {
	return func(m jsonx.Member) bool { return m.Name == name }
}

// instant reads the time of a marker; 0 if it is none.
func instant(v jsonx.Value) mail.Time {
	var ms float64
	if jsonx.Unmarshal(v, &ms) != nil || ms < 0 || ms > latest {
		return 0
	}
	return mail.Time(ms)
}

// set marks an entry as read unless it is, and reports whether it was not.
func (m *marks) set(id mail.ID, at mail.Time) bool {
	if m.read.Find(string(id)) >= 0 {
		return false
	}
	m.read.Put(string(id), strconv.AppendInt(nil, int64(at), 10))
	return true
}

// drop takes the marker of an entry away, and reports whether there was one.
func (m *marks) drop(id mail.ID) bool {
	n := len(m.read)
	m.read = slices.DeleteFunc(m.read, named(string(id)))
	return len(m.read) < n
}
