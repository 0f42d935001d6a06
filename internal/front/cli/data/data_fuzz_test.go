package data

import (
	"bytes"
	"testing"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

func allItems(text []byte) (items []mail.Item, err error) {
	for it, err := range readItems(bytes.NewReader(text)) {
		if err != nil {
			return nil, err
		}
		items = append(items, it)
	}
	return items, nil
}

// FuzzImport: a file that is read as an export can be written as one and read again as the same.
func FuzzImport(f *testing.F) {
	const item = `{"id":"m","type":"status","from":"agent:a","to":["all"],"body":"Hi","seq":1,"read":false,` +
		`"sent":"2026-05-10T14:00:00.123Z"}`
	for _, s := range []string{item, item + "\n" + item + "\r\n", "[" + item + "]", " \n[]", "[{}",
		`{"metadata":{"n":1e99999}}`, `{"metadata":[]}`, "\xff", `{"deliveries":[{"state":"odd"}]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		items, err := allItems(text)
		if err != nil {
			return
		}
		var out bytes.Buffer
		for i := range items {
			line, err := jsonx.Marshal(&items[i])
			if err != nil {
				t.Fatalf("%q is read as %+v and cannot be written: %v", text, items[i], err)
			}
			out.Write(append(line, '\n'))
		}
		if out.Len() == 0 {
			return
		}
		again, err := allItems(out.Bytes())
		if err != nil || len(again) != len(items) {
			t.Fatalf("%q is written as %q and read as %d messages: %v", text, &out, len(again), err)
		}
		for i := range items {
			a, _ := jsonx.Marshal(&items[i])
			b, _ := jsonx.Marshal(&again[i])
			if !bytes.Equal(a, b) {
				t.Errorf("%q is written as %q, then as %q", text, a, b)
			}
		}
	})
}
