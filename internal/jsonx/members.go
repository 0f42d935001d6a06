package jsonx

import (
	"bytes"
	"errors"
	"io"
)

// Member is a member of an object.
type Member struct {
	Name  string
	Value Value // as it stands in the text
}

// Members returns the members of a JSON object in the order in which they stand there. Duplicates are an error.
func Members(object []byte) ([]Member, error) {
	d := newDecoder(bytes.NewReader(object))
	begin, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	if begin.Kind() != '{' {
		return nil, errors.New("not a JSON object")
	}
	var all []Member
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		m := Member{Name: name.String()} // before the token is overwritten
		value, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		m.Value = value.Clone()
		all = append(all, m)
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something stands behind the JSON object")
	}
	return all, nil
}
