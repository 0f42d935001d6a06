package jsonx

import (
	"bytes"
	"errors"
	"io"
	"slices"
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

// Pick reads one JSON object from r, and nothing behind it, so that r need not end. It returns the members with the
// given names, the last of each name, and holds no others in memory. Invalid UTF-8 is replaced.
func Pick(r io.Reader, names ...string) (map[string]Value, error) {
	d := newLenientDecoder(r)
	begin, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	if begin.Kind() != '{' {
		return nil, errors.New("not a JSON object")
	}
	picked := make(map[string]Value)
	for d.PeekKind() != '}' {
		token, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		name := token.String()
		if !slices.Contains(names, name) {
			err = d.SkipValue()
		} else if value, e := d.ReadValue(); e == nil {
			picked[name] = value.Clone()
		} else {
			err = e
		}
		if err != nil {
			return nil, err
		}
	}
	_, err = d.ReadToken()
	return picked, err
}

// ReadValue reads one JSON value from r, and nothing behind it, so that r need not end. Duplicate members and invalid
// UTF-8 pass.
func ReadValue(r io.Reader) (Value, error) {
	value, err := newLenientDecoder(r).ReadValue()
	return value.Clone(), err
}
