package openalice

import (
	"bytes"
	"slices"
	"strconv"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// marks is the content of read-state.json, with all that somebody else put there, in its order.
type marks struct {
	top  []jsonx.Member // "read" among them, for its place only
	read []jsonx.Member // by id: when it was read, in milliseconds
}

// parseMarks reads read-state.json; nothing at all means that nothing is read.
func parseMarks(text []byte) (*marks, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return &marks{top: []jsonx.Member{{Name: "version", Value: jsonx.Value("1")}, {Name: "read"}}}, nil
	}
	top, err := jsonx.Members(text)
	if err != nil {
		return nil, err
	}
	m := &marks{top: top}
	i := slices.IndexFunc(top, named("read"))
	if i < 0 {
		m.top = append(m.top, jsonx.Member{Name: "read"})
		return m, nil
	}
	m.read, err = jsonx.Members(top[i].Value)
	return m, err
}

func named(name string) func(jsonx.Member) bool {
	return func(m jsonx.Member) bool { return m.Name == name }
}

// encode writes m as JSON.stringify does with two spaces, and a newline.
func (m *marks) encode() []byte {
	out := []byte("{")
	for i, t := range m.top {
		out = appendName(out, i, "\n  ", t.Name)
		if t.Name != "read" {
			out = append(out, t.Value...)
			continue
		}
		out = append(out, '{')
		for j, r := range m.read {
			out = append(appendName(out, j, "\n    ", r.Name), r.Value...)
		}
		if len(m.read) > 0 {
			out = append(out, "\n  "...)
		}
		out = append(out, '}')
	}
	return append(out, "\n}\n"...)
}

func appendName(out []byte, i int, indent, name string) []byte {
	if i > 0 {
		out = append(out, ',')
	}
	return append(jsonx.AppendQuote(append(out, indent...), name), ": "...)
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
	if slices.ContainsFunc(m.read, named(string(id))) {
		return false
	}
	m.read = append(m.read, jsonx.Member{Name: string(id), Value: strconv.AppendInt(nil, int64(at), 10)})
	return true
}

// drop takes the marker of an entry away, and reports whether there was one.
func (m *marks) drop(id mail.ID) bool {
	n := len(m.read)
	m.read = slices.DeleteFunc(m.read, named(string(id)))
	return len(m.read) < n
}
