package mcpserver

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"

	"pennypost/internal/base/jsonx"
)

// ids translates the ids of calls for the SDK, which knows only 64-bit integers and strings: it answers the id -1.5
// as -1, and every number over 2^63 as the same one. An id that would not return byte for byte reaches the SDK as a
// string that begins with a mark, and is restored in the SDK's output. The value of ids is the mark, which is
// random so that no mail contains it.
type ids string

func newIDs() ids { return ids("id-" + rand.Text() + "-") }

// inside returns the SDK's id for a call whose client's id is raw.
func (m ids) inside(raw json.RawMessage) json.RawMessage {
	if comesBack(raw) && !bytes.Contains(raw, []byte(m)) {
		return raw
	}
	return json.RawMessage(`"` + string(m) + base64.RawURLEncoding.EncodeToString(raw) + `"`)
}

// outside returns the SDK's output with every id as its client wrote it.
func (m ids) outside(text []byte) []byte {
	mark := []byte(`"` + string(m))
	if !bytes.Contains(text, mark) {
		return text
	}
	var out []byte
	for {
		before, rest, found := bytes.Cut(text, mark)
		out = append(out, before...)
		if !found {
			return out
		}
		coded, behind, closed := bytes.Cut(rest, []byte(`"`))
		if !closed {
			return append(append(out, mark...), rest...)
		}
		raw, err := base64.RawURLEncoding.AppendDecode(nil, coded)
		if err != nil || !isID(raw) || bytes.HasSuffix(before, []byte(`\`)) { // inside a quoted text, not an id
			out = append(append(append(out, mark...), coded...), '"')
		} else {
			out = append(out, raw...)
		}
		text = behind
	}
}

// comesBack reports whether the SDK writes an id exactly as it read it.
func comesBack(raw json.RawMessage) bool {
	if len(raw) == 0 {
		return true
	}
	if raw[0] == '"' {
		return !bytes.ContainsFunc(raw, func(r rune) bool { return r < ' ' || r > '~' || r == '\\' })
	}
	const exact = 1 << 53 // from here on a float64 skips integers
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return err == nil && -exact < n && n < exact && strconv.FormatInt(n, 10) == string(raw)
}

// isID reports whether raw, a JSON value, may be a call's id: a string or a number (MCP forbids null, which
// JSON-RPC allows).
func isID(raw json.RawMessage) bool {
	return len(raw) > 0 && (raw[0] == '"' || raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9') && json.Valid(raw)
}

// conceal returns a call, or the notification that cancels one, with its id translated for the SDK.
func (m ids) conceal(body []byte, method string) []byte {
	if method == "notifications/cancelled" {
		from, to := jsonx.Place(body, "params")
		return replace(body, from, to, m.replaceIn(body[from:to], "requestId"))
	}
	return m.replaceIn(body, "id")
}

// replaceIn returns object with the id in its member name translated for the SDK, if that member is an id.
func (m ids) replaceIn(object []byte, name string) []byte {
	from, to := jsonx.Place(object, name)
	if !isID(object[from:to]) {
		return object
	}
	return replace(object, from, to, m.inside(object[from:to]))
}

// replace returns b with b[from:to] replaced. It does not change b.
func replace(b []byte, from, to int, by []byte) []byte {
	if bytes.Equal(b[from:to], by) {
		return b
	}
	return bytes.Join([][]byte{b[:from], by, b[to:]}, nil)
}

// concealBatch is conceal for a batch, whose members may be any JSON.
func (m ids) concealBatch(body []byte) []byte {
	var all []json.RawMessage
	if json.Unmarshal(body, &all) != nil {
		return body
	}
	for i, one := range all {
		var in struct{ Method string }
		if json.Unmarshal(one, &in) == nil && in.Method != "" {
			all[i] = m.conceal(one, in.Method)
		}
	}
	out, err := json.Marshal(all)
	if err != nil || strings.Count(string(out), string(m)) == 0 {
		return body
	}
	return out
}
