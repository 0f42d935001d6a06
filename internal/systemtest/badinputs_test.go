package systemtest

import (
	"encoding/json"
	"fmt"
	"strings"

	"pennypost/internal/mail"
)

// draft returns a message in JSON, as both HTTP and MCP take it.
func draft(to, body string, more ...string) string {
	b, err := json.Marshal(map[string]string{"to": to, "body": body})
	if err != nil {
		panic(err) // the arguments are strings
	}
	text := strings.TrimSuffix(string(b), "}")
	for _, m := range more {
		text += "," + m
	}
	return text + "}"
}

// sendBad is bad input that is sent as a message.
func sendBad(name, says string, exit, status int, draft string, cli ...string) badInput {
	return badInput{
		name: name, says: says, exit: exit, status: status, cli: append([]string{"send"}, cli...),
		method: "POST", path: "messages", body: draft, tool: "send_message", args: draft,
	}
}

func badInputs() []badInput {
	return append(append(append(badMessages(), badNames()...), badRooms()...), append(badNumbers(), badJSON()...)...)
}

func badMessages() []badInput {
	big := marker + strings.Repeat("x", mail.MaxBody)
	inputs := []badInput{
		sendBad("unknown recipient", "unknown.*buidler.*builder", 3, 404, draft("buidler", marker), "--to", "buidler",
			"--body", marker),
		sendBad("one recipient of several unknown", "unknown.*buidler", 3, 404,
			`{"to":["builder","buidler"],"body":"`+marker+`"}`, "--to", "builder", "--to", "buidler", "--body",
			marker),
		sendBad("no recipient", "recipient|nobody", 2, 400, `{"to":[],"body":"`+marker+`"}`, "--body", marker),
		sendBad("empty recipient", "empty", 2, 400, draft("", marker), "--to", "", "--body", marker),
		sendBad("unknown namespace", "unknown.*colour", 3, 404, draft("colour:red", marker), "--to", "colour:red",
			"--body", marker),
		sendBad("unknown type", "task-asigned.*task-assigned", 2, 400,
			draft("builder", marker, `"type":"task-asigned"`), "--to", "builder", "--type", "task-asigned", "--body",
			marker),
		sendBad("empty body", "empty", 2, 400, draft("builder", ""), "--to", "builder", "--body", ""),
		sendBad("blank body", "empty", 2, 400, draft("builder", " \n\t"), "--to", "builder", "--body", " \n\t"),
		sendBad("subject of two lines", "line", 2, 400, draft("builder", marker, `"subject":"a\nb"`), "--to",
			"builder", "--subject", "a\nb", "--body", marker),
		sendBad("subject too long", "1024", 5, 413, draft("builder", marker, `"subject":"`+strings.Repeat("s", 1025)+
			`"`), "--to", "builder", "--subject", strings.Repeat("s", 1025), "--body", marker),
		sendBad("reply to nothing", "msg_unknown", 3, 404, draft("builder", marker, `"reply_to":"msg_unknown"`),
			"--to", "builder", "--reply-to", "msg_unknown", "--body", marker),
		sendBad("review without verdict", "verdict.*approved", 2, 400,
			draft("builder", marker, `"type":"review-result"`), "--to", "builder", "--type", "review-result", "--body",
			marker),
		sendBad("metadata not an object", "object", 2, 400, draft("builder", marker, `"metadata":[1]`), "--to",
			"builder", "--metadata", "[1]", "--body", marker),
		sendBad("metadata too large", "16384", 5, 413,
			draft("builder", marker, `"metadata":{"a":"`+strings.Repeat("m", 16<<10)+`"}`), "--to", "builder",
			"--metadata", `{"a":"`+strings.Repeat("m", 16<<10)+`"}`, "--body", marker),
		sendBad("another room that is not there", "no room.*nowhere", 3, 404, draft("builder@nowhere", marker), "--to",
			"builder@nowhere", "--body", marker),
		{name: "body over the limit", says: "65536", exit: 5, cli: []string{"send", "--to", "builder"}, stdin: big,
			status: 413,
			method: "POST", path: "messages", body: draft("builder", big), tool: "send_message",
			args: draft("builder", big)},
		{name: "body not UTF-8", says: "UTF-8", exit: 2, cli: []string{"send", "--to", "builder", "--body",
			marker + "\xff\xfe"}, status: 400,
			method: "POST", path: "messages", body: `{"to":"builder","body":"` + marker + "\xff\xfe" + `"}`},
		{name: "body on standard input not UTF-8", says: "UTF-8", exit: 2, cli: []string{"send", "--to", "builder"},
			stdin: marker + "\xc3\x28"},
		{name: "NUL in the body", says: "NUL", exit: 2, cli: []string{"send", "--to", "builder"},
			stdin: marker + "\x00", status: 400,
			method: "POST", path: "messages", body: draft("builder", marker+"\x00"), tool: "send_message",
			args: draft("builder", marker+"\x00")},
	}
	for _, to := range []string{"system", "agent:all"} {
		inputs = append(inputs, sendBad("recipient "+to, "unknown|not", 3, 404, draft(to, marker), "--to", to,
			"--body", marker))
	}
	return inputs
}

func badNames() (inputs []badInput) {
	for _, n := range []struct{ what, name, says string }{
		{"newline", "a\nb", "control|U\\+000A"}, {"escape", "a\x1b[31mb", "control|U\\+001B"},
		{"bell", "\x07", "control|U\\+0007|white"},
		{"C1 control", "a\u0085b", "control|U\\+0085"}, {"reversed text", "a\u202eb", "U\\+202E"},
		{"zero width", "a\u200bb", "U\\+200B"},
		{"space at the end", "a ", "white space"}, {"too long", strings.Repeat("n", 129), "128"},
		{"nothing", "", "empty|argument"},
		{"reserved all", "all", "reserved"}, {"reserved system", "system", "reserved"},
		{"like an address", "role:x", "address"},
	} {
		quoted, err := json.Marshal(n.name)
		if err != nil {
			panic(err) // a string can be quoted
		}
		exit, status := 2, 400
		if strings.HasPrefix(n.what, "reserved") {
			exit, status = 5, 403
		}
		in := badInput{name: "name with " + n.what, says: n.says, exit: exit,
			cli: []string{"agents", "register", n.name}, status: status,
			method: "POST", path: "agents", body: `{"name":` + string(quoted) + `}`, tool: "set_presence",
			args: `{"name":` + string(quoted) + `}`}
		if n.name == "" {
			in.path, in.tool = "", "" // there it means the caller
		}
		inputs = append(inputs, in)
		if n.name != "" {
			inputs = append(inputs, badInput{name: "sender with " + n.what, says: n.says, exit: exit,
				cli: []string{"send", "--as", n.name, "--to", "builder", "--body", marker}})
		}
	}
	return append(inputs,
		badInput{name: "name not UTF-8", says: "UTF-8", exit: 2, cli: []string{"agents", "register", "a\xff"},
			status: 400,
			method: "POST", path: "agents", body: "{\"name\":\"a\xff\"}"},
		badInput{name: "role with a colon", says: "role", exit: 2, cli: []string{"agents", "register", "x", "--role",
			"a:b"}, status: 400,
			method: "POST", path: "agents", body: `{"name":"x","roles":["a:b"]}`, tool: "set_presence",
			args: `{"roles":["a:b"]}`},
		badInput{name: "tag without namespace", says: "tag.*namespace", exit: 2,
			cli: []string{"agents", "register", "x", "--tag", "parser"}, status: 400,
			method: "POST", path: "agents", body: `{"name":"x","tags":["parser"]}`, tool: "set_presence",
			args: `{"tags":["parser"]}`},
		badInput{name: "unknown state", says: "sleeping.*idle", exit: 2,
			cli: []string{"agents", "update", "builder", "--state", "sleeping"}, status: 400,
			method: "POST", path: "agents", body: `{"name":"builder","state":"sleeping"}`, tool: "set_presence",
			args: `{"state":"sleeping"}`},
		badInput{name: "unknown mark", says: "mark", exit: 2, cli: []string{"mark", "--all", "--seen"}, status: 400,
			method: "POST", path: "marks", body: `{"all":true,"mark":"seen"}`, tool: "mark_messages",
			args: `{"all":true,"mark":"seen"}`},
	)
}

func badRooms() (inputs []badInput) {
	for _, r := range []struct{ what, room, segment string }{
		{"parent", "..", "%2e%2e"}, {"sibling", "../x", "..%2fx"}, {"self", ".", "%2e"},
		{"absolute", "/tmp/" + marker, "%2ftmp%2f" + marker},
		{"nested", "a/b", "a%2fb"}, {"hidden", ".git", ".git"}, {"backslash", `..\x`, "..%5cx"},
		{"control", "a\nb", "a%0ab"}, {"space", "a b", "a%20b"},
		{"device", "con", "con"}, {"option", "-x", "-x"}, {"not UTF-8", "a\xff", "a%ff"},
		{"too long", strings.Repeat("r", 101), strings.Repeat("r", 101)},
		{"NUL", "", "a%00b"}, {"deep", "../../../../../../tmp/" + marker, "..%2f..%2f..%2f..%2f..%2f..%2ftmp%2f" +
			marker},
	} {
		in := badInput{name: "room " + r.what, says: "room name|path", exit: 2, status: 400, method: "POST",
			path: "/api/v1/rooms/" + r.segment + "/messages", body: draft("user", marker)}
		if r.room != "" { // a NUL cannot be typed
			in.cli = []string{"send", "--room=" + r.room, "--as", "builder", "--to", "user", "--body", marker}
		}
		inputs = append(inputs, in, badInput{name: "events of room " + r.what, says: "room name|path", status: 400,
			method: "GET", path: "/api/v1/rooms/" + r.segment + "/events"})
	}
	return append(inputs,
		badInput{name: "room parent unescaped", says: "path|route", status: 400, method: "GET",
			path: "/api/v1/rooms/../status"},
		badInput{name: "room empty", says: "path|route", status: 400, method: "GET", path: "/api/v1/rooms//inbox"},
	)
}

func badNumbers() (inputs []badInput) {
	number := func(name, says string, cli []string, path, tool, args string) {
		inputs = append(inputs, badInput{name: name, says: says, exit: 2, cli: cli, status: 400, method: "GET",
			path: path, tool: tool, args: args})
	}
	number("negative limit", "limit|-1", []string{"inbox", "--limit", "-1"}, "inbox?limit=-1", "read_messages",
		`{"limit":-1}`)
	number("limit too large", "1000|1001", []string{"inbox", "--limit", "1001"}, "inbox?limit=1001", "read_messages",
		`{"limit":1001}`)
	number("limit of a history negative", "limit|-5", []string{"history", "--limit", "-5"}, "messages?limit=-5",
		"read_messages", `{"limit":-5,"query":"x"}`)
	number("limit not a number", "limit|many", []string{"history", "--limit", "many"}, "messages?limit=many",
		"read_messages", `{"limit":"many"}`)
	number("negative bytes", "bytes", nil, "inbox?bytes=-1", "", "")
	number("negative cursor", "after|-1|seq|place", []string{"inbox", "--after", "-1"}, "inbox?after=-1",
		"read_messages", `{"after":-1}`)
	number("negative time-out", "time|-1", []string{"wait", "--as", "builder", "--timeout", "-1s"}, "wait?timeout=-1",
		"wait_for_messages", `{"timeout_seconds":-1}`)
	number("time that is none", "time|soon", []string{"history", "--since", "soon"},
		"messages?since=soon", "read_messages", `{"since":"soon"}`)
	const future = "999999999"
	for what, c := range map[string]struct {
		cli        []string
		path, tool string
	}{
		"inbox":   {[]string{"inbox", "--as", "builder", "--after", future}, "inbox?after=" + future, "read_messages"},
		"history": {[]string{"history", "--after", future}, "messages?after=" + future, ""},
		"pages":   {[]string{"history", "--before", future}, "messages?before=" + future, ""},
		"watch":   {[]string{"watch", "--after", future}, "events?after=" + future, ""},
		"wait": {[]string{"wait", "--as", "builder", "--after", future, "--timeout", "20s"},
			"wait?timeout=20&after=" + future, "wait_for_messages"},
	} {
		number("cursor of "+what+" from the future", "future", c.cli, c.path, c.tool,
			fmt.Sprintf(`{"after":%s}`, future))
	}
	inputs = append(inputs,
		badInput{name: "Last-Event-ID from the future", says: "future", status: 400, method: "GET", path: "events",
			fields: []string{"Last-Event-ID: " + future}},
		badInput{name: "Last-Event-ID not a number", says: "Last-Event-ID", status: 400, method: "GET", path: "events",
			fields: []string{"Last-Event-ID: x"}},
		sendBad("negative time to live", "time|ttl|-4", 2, 400, draft("builder", marker, `"ttl_hours":-4`), "--to",
			"builder", "--ttl", "-4h", "--body", marker),
	)
	inputs[len(inputs)-1].body = draft("builder", marker, `"ttl_seconds":-4`)
	return inputs
}

func badJSON() []badInput {
	inputs := []badInput{
		{name: "metadata malformed", says: "JSON", exit: 2, cli: []string{"send", "--to", "builder", "--metadata",
			`{"a":`, "--body", marker}},
		{name: "import malformed", says: "line 1", exit: 2, cli: []string{"import", "-"}, stdin: `{"id":`, status: 400,
			method: "POST", path: "import", body: `{"id":`, fields: []string{"Content-Type: application/x-ndjson"}},
		{name: "query unknown", says: "limits.*limit", status: 400, method: "GET", path: "inbox?limits=5"},
		{name: "query malformed", says: "query", status: 400, method: "GET", path: "inbox?limit=%zz"},
		{name: "flag unknown", says: "there is no flag.*--body", exit: 2,
			cli: []string{"send", "--to", "builder", "--bodi", marker}},
		{name: "verb unknown", says: "inbox", exit: 2, cli: []string{"inbxo"}},
	}
	for what, body := range map[string]string{
		"nothing": "", "torn": `{"to":"builder","body":"` + marker, "not JSON": "to=builder&body=" + marker,
		"list":       `["builder","` + marker + `"]`,
		"two values": draft("builder", marker) + draft("builder", marker), "wrong type": `{"to":"builder","body":7}`,
		"wrong type of to": `{"to":{"a":1},"body":"` + marker + `"}`,
		"unknown member":   draft("builder", marker, `"prioritty":"urgent"`),
		"member twice":     draft("builder", marker, `"body":"`+marker+`"`),
		"case of a member": `{"to":"builder","Body":"` + marker + `"}`, "deep": `{"to":"builder","metadata":` +
			strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000) + `,"body":"` + marker + `"}`,
	} {
		in := badInput{name: "JSON " + what, says: ".", status: 400, method: "POST", path: "messages", body: body}
		if json.Valid([]byte(body)) && body[0] == '{' && what != "deep" { // the client's own JSON refuses that depth
			in.tool, in.args = "send_message", body
		}
		inputs = append(inputs, in)
	}
	return inputs
}
