package jsonx

import (
	"bytes"
	"errors"
	"io"
	"iter"
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

// Elements yields the elements of one JSON array, holding one at a time, valid until the next. Behind an error it
// ends.
func Elements(r io.Reader) iter.Seq2[Value, error] {
	return func(yield func(Value, error) bool) {
		d := newDecoder(r)
		begin, err := d.ReadToken()
		if err == nil && begin.Kind() != '[' {
			err = errors.New("not a JSON array")
		}
		for err == nil && d.PeekKind() != ']' {
			var value Value
			if value, err = d.ReadValue(); err == nil && !yield(value, nil) {
				return
			}
		}
		if err == nil {
			_, err = d.ReadToken()
		}
		if err == nil {
			if _, end := d.ReadToken(); !errors.Is(end, io.EOF) {
				err = errors.New("something stands behind the JSON array")
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
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
