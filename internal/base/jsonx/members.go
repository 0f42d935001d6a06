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
	Value Value // unchanged from the text
}

// parts reads an object or an array, which starts with begin, from d. next reads one member or element.
func parts(d *decoder, begin byte, next func() error) error {
	token, err := d.ReadToken()
	if err == nil && byte(token.Kind()) != begin {
		err = errors.New("not " + kind(begin))
	}
	for err == nil && byte(d.PeekKind()) != begin+2 { // in ASCII, ] and } are two after [ and {
		err = next()
	}
	if err == nil {
		_, err = d.ReadToken()
	}
	return err
}

// named is parts for an object. next gets a member's name, and reads its value.
func named(d *decoder, next func(name string) error) error {
	return parts(d, '{', func() error {
		token, err := d.ReadToken()
		if err != nil {
			return err
		}
		return next(token.String()) // before the token is overwritten
	})
}

// alone returns err or, if that is nil, an error if any token follows.
func alone(d *decoder, err error) error {
	if err != nil {
		return err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return errors.New("there is text after the JSON value")
	}
	return nil
}

// Members returns the members of a JSON object in order. Duplicates are an error.
func Members(object []byte) (members []Member, err error) {
	d := newDecoder(bytes.NewReader(object))
	err = alone(d, named(d, func(name string) error {
		value, err := d.ReadValue()
		members = append(members, Member{name, value.Clone()})
		return err
	}))
	if err != nil {
		return nil, err
	}
	return members, nil
}

// Place returns the range of the value of the last member called name in a JSON object; 0, 0 if there is none.
func Place(object []byte, name string) (from, to int) {
	d := newLenientDecoder(bytes.NewBuffer(object))
	err := named(d, func(n string) error {
		value, err := d.ReadValue()
		if n == name {
			to = int(d.InputOffset())
			from = to - len(value)
		}
		return err
	})
	if err != nil {
		return 0, 0
	}
	return from, to
}

// MaxDepth bounds the nesting that Split accepts: in indented text, each level is indented by all levels around it.
const MaxDepth = 1000

// Split returns the elements of a JSON array, or the names and values of a JSON object in turn, as begin says. They
// are slices of text. Repeated names and any bytes in strings are accepted.
func Split(text []byte, begin byte) (values [][]byte, err error) {
	d := newLenientDecoder(bytes.NewBuffer(text))
	values = make([][]byte, 0, 16) // an object of some size, or the beginning of a list
	err = alone(d, parts(d, begin, func() error {
		value, err := d.ReadValue()
		to := int(d.InputOffset())
		values = append(values, text[to-len(value):to])
		if err == nil && deep(value) {
			err = errors.New("its values are nested too deep")
		}
		return err
	}))
	if err != nil {
		return nil, err
	}
	return values, nil
}

// deep reports whether a value, inside its list, exceeds MaxDepth.
func deep(value []byte) bool {
	if bytes.Count(value, []byte{'['})+bytes.Count(value, []byte{'{'}) < MaxDepth {
		return false
	}
	d := newLenientDecoder(bytes.NewBuffer(value))
	for d.StackDepth() < MaxDepth {
		if _, err := d.ReadToken(); err != nil {
			return false
		}
	}
	return true
}

// Mended returns JSON text with invalid parts of strings, such as half a surrogate pair, replaced by U+FFFD. Valid
// text and text that is not JSON stay unchanged.
func Mended(text []byte) []byte {
	if Value(text).IsValid() {
		return text
	}
	mended, err := appendDecoded(nil, text)
	if err != nil {
		return text
	}
	return mended
}

// Elements yields the elements of one JSON array, one at a time, each valid until the next. An error ends it.
func Elements(r io.Reader) iter.Seq2[Value, error] {
	return func(yield func(Value, error) bool) {
		d := newDecoder(r)
		err := alone(d, parts(d, '[', func() error {
			value, err := d.ReadValue()
			if err == nil && !yield(value, nil) {
				err = errStopped
			}
			return err
		}))
		if err != nil && err != errStopped {
			yield(nil, err)
		}
	}
}

var errStopped = errors.New("no more elements are wanted")

// Pick reads one JSON object from r, and nothing after it, so r need not end. It returns the members with the given
// names, the last of each name, and keeps no others in memory. Invalid UTF-8 is replaced.
func Pick(r io.Reader, names ...string) (map[string]Value, error) {
	d, picked := newLenientDecoder(r), make(map[string]Value)
	err := named(d, func(name string) error {
		if !slices.Contains(names, name) {
			return d.SkipValue()
		}
		value, err := d.ReadValue()
		picked[name] = value.Clone()
		return err
	})
	if err != nil {
		return nil, err
	}
	return picked, nil
}

// ReadValue reads one JSON value from r, and nothing after it, so r need not end. Duplicate members and invalid UTF-8
// are accepted.
func ReadValue(r io.Reader) (Value, error) {
	value, err := newLenientDecoder(r).ReadValue()
	return value.Clone(), err
}
