package httpapi

import (
	"bufio"
	"bytes"
	"errors"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// export streams the room. An error before the first message has its own status; a later one breaks the connection,
// so that a part is not taken for the whole.
func export(c *call) (any, error) {
	s := c.stream()
	for item, err := range c.room.Export(c.r.Context()) {
		if err != nil {
			return nil, err
		}
		line, err := jsonx.Marshal(item)
		if err != nil {
			return nil, err
		}
		if err := s.add(line, '\n'); err != nil {
			return nil, err
		}
	}
	return nil, s.flush()
}

// maxImportLine is the longest line of an import, in bytes: many times the largest message. At every read the
// scanner searches the whole line again for its end, so an unbounded line would take quadratic time.
const maxImportLine = 8 << 20

func importRoute() route {
	rt := of(&wire.ImportCall)
	rt.in, rt.inType, rt.handle = mail.Item{}, wire.Lines, importItems
	return rt
}

// importItems reads the whole body before it stores anything, so that a bad line leaves no partial import.
func importItems(c *call) (any, error) {
	if err := c.contentType(wire.Lines); err != nil {
		return nil, err
	}
	limit := c.api.opts.MaxImport
	r, err := c.reader(limit)
	if err != nil {
		return nil, err
	}
	var items []mail.Item
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxImportLine)
	n := 1
	for ; lines.Scan(); n++ {
		if lines.Err() != nil {
			break // this is not a line, but the text before the error
		}
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var item mail.Item
		if err := jsonx.UnmarshalStrict(lines.Bytes(), &item); err != nil {
			return nil, mail.Errorf(mail.Invalid, "line %d is not a message in JSON: %s. Nothing was imported", n,
				jsonx.Explain(err))
		}
		items = append(items, item)
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, mail.Errorf(mail.TooLarge,
			"line %d is larger than the limit of %d bytes for a message. Nothing was imported", n, maxImportLine)
	case err != nil:
		return nil, c.unread(err, limit)
	}
	return c.room.Import(c.r.Context(), items)
}
