package jsonl

import (
	"bytes"
	"strings"
	"testing"

	"pennypost/internal/mail"
)

// TestNeeds checks that Open refuses a journal of a newer Pennypost, and names its needs wherever they are stated. It
// changes no byte of it, nor of leftovers of a crash. A journal that only looks like that is opened.
func TestNeeds(t *testing.T) {
	const at = `,"at":"2026-05-10T14:00:00.125Z"`
	// The last line is torn, and Open would cut it; one file is unfinished, and Open would remove it.
	with := func(payload string) *memDisk {
		lines := strings.SplitAfter(chainOf(3), "\n")
		end, _, _ := inspect([]byte(strings.TrimSpace(lines[2])))
		b := []byte(strings.Join(lines[:3], ""))
		if payload != "" {
			b = appendLine(b, end.end+1, end.crc, []byte(payload))
		}
		d := diskWith(string(b) + `{"seq":9,"at"`)
		d.put(memPath+"/"+mainName+tmpSuffix, []byte("half"))
		d.put(memPath+"/"+archiveName+"/2026-05.jsonl"+tmpSuffix, []byte("half"))
		return d
	}
	for name, tt := range map[string]struct{ payload, says string }{
		"a feature":    {at + `,"needs":{"features":["rooms-in-rooms"],"by":"v3.1.0"}`, "Pennypost (v3.1.0) and needs rooms-in-rooms, which"},
		"with more":    {at + `,"needs":{"features":["a","b"],"by":"v3"},"later":{"x":[1]}`, "needs a, b, which"},
		"no version":   {at + `,"needs":{"features":["a"]}`, "unknown version"},
		"another form": {at + `,"needs":{"features":{"a":3}}`, "needs something"},
		"nothing":      {at + `,"needs":{"features":[],"by":"v3"}`, ""},
		"elsewhere":    {at + `,"later":{"needs":{"features":["a"]}}`, ""},
		"in a letter": {at + `,"message":{"id":"note_1_","type":"status","from":"agent:a","to":["all"],` +
			`"body":",\"needs\":{\"features\":[\"a\"]}","metadata":{"needs":{"features":["a"]}}}`, ""},
		"none": {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := with(tt.payload)
			before := contents(d)
			j, err := openMem(d)
			if tt.says == "" {
				if err != nil {
					t.Fatal(err)
				}
				j.Close()
				return
			}
			if mail.CodeOf(err) != mail.Conflict || !strings.Contains(err.Error(), tt.says) ||
				!strings.Contains(err.Error(), "Nothing was changed") {
				t.Errorf("Open = %v, want %q", err, tt.says)
			}
			after := contents(d)
			for name, text := range before {
				if !bytes.Equal(after[name], text) {
					t.Errorf("%s was %q and is %q", name, text, after[name])
				}
			}
			for name := range after {
				if _, was := before[name]; !was && !strings.HasSuffix(name, "/"+lockName) {
					t.Errorf("%s was made", name)
				}
			}
		})
	}
}

// contents returns the files of a disk by path.
func contents(d *memDisk) map[string][]byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make(map[string][]byte)
	for dir, m := range d.dirs {
		for name, file := range m.names {
			all[dir+"/"+name] = bytes.Clone(file.data)
		}
	}
	return all
}
