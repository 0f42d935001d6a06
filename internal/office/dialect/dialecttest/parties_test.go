package dialecttest_test

import (
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
)

func parties() []party {
	return []party{native(), agentiesParty(), haakParty(), superportiaParty(), openaliceParty(), claudeteamsParty()}
}

const (
	subject = "Parser: näxt"
	text    = "Done.\n\nSee *it* <here> & there."
)

func split(text string) []string {
	if text = strings.TrimSuffix(text, "\n"); text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// bare returns a name for a dialect without a form for addresses.
func bare(a mail.Address) string { return string(a.Signer()) }

func native() party {
	return party{
		name: "native",
		sends: []sending{{name: "Send", send: func(o *office) (mail.Message, time.Duration) {
			id := o.beds["haak"].Send(writer, mail.Draft{
				To: mail.Recipients{string(o.to())}, Type: "review-result", Subject: subject, Body: text,
				ReplyTo: o.parent, Priority: "urgent", Issue: "I-7",
				Docs:     []mail.Doc{{Path: "docs/plan.md", Revision: "r1"}, {Path: "store.go"}},
				Metadata: mail.Metadata(`{"verdict":"approved"}`), TTLSeconds: 48 * 3600,
			})
			if !isUUID(id) { // as the files of some dialects in the room require
				o.Errorf("the id is %s", id)
			}
			return mail.Message{
				ID: id, Type: mail.ReviewResult, From: "agent:writer", To: []mail.Address{o.to()}, Subject: subject,
				Body:    text,
				ReplyTo: o.parent, Thread: o.parent, Priority: mail.Urgent, Issue: "I-7",
				Docs:     []mail.Doc{{Path: "docs/plan.md", Revision: "r1"}, {Path: "store.go"}},
				Metadata: mail.Metadata(`{"verdict":"approved"}`), TTLSeconds: 48 * 3600,
			}, 2 * day
		}}},
		reads: []reading{{
			name:    "Inbox",
			show:    func(o *office, id mail.ID) object { return decode[object](o, o.json(o.item(id).Message)) },
			promise: func(o *office, m *mail.Message) object { return decode[object](o, o.json(m)) },
		}},
		mark: func(o *office, id mail.ID) {
			if _, err := o.beds["haak"].As(o.reader).Mark(o.Context(),
				mail.Marking{IDs: []mail.ID{id}, Mark: mail.MarkRead}); err != nil {
				o.Error(err)
			}
		},
		isRead: func(o *office, id mail.ID) bool { return o.item(id).Read },
	}
}

const agentiesFile = ".agenties/mailbox.jsonl"

func agentiesParty() party {
	read := func(o *office, id mail.ID, unread bool) object {
		list, _ := o.call("agenties", o.reader, "read_messages", object{"unreadOnly": unread})["messages"].([]any)
		return find(list, "id", id)
	}
	said := func(o *office, id mail.ID) mail.Message {
		return mail.Message{
			ID: id, Type: mail.ReviewRequest, From: "agent:writer", To: []mail.Address{o.to()}, Subject: subject,
			Body: text, Issue: "I-7",
			Metadata: mail.Metadata(`{"k":[1,"é"]}`),
		}
	}
	life := func(o *office) time.Duration {
		if o.reader == mail.User {
			return 0
		}
		return 7 * day
	}
	return party{
		name: "agenties",
		sends: []sending{
			// Only the orchestrator may write to the user.
			{name: "send_message", never: mail.User, send: func(o *office) (mail.Message, time.Duration) {
				out := o.call("agenties", writer, "send_message", object{
					"type": "review-request", "to": string(o.to()), "subject": subject, "body": text, "issueId": "I-7",
					"metadata": object{"k": []any{1, "é"}},
				})
				m := said(o, mail.ID(out["id"].(string)))
				m.TTLSeconds = 24 * 3600 // the room keeps haak's files too
				return m, day
			}},
			{name: "mailbox.jsonl", send: func(o *office) (mail.Message, time.Duration) {
				const id = "msg_V1StGXR8_Z5jdHi6B-myT"
				o.append("agenties", agentiesFile, object{
					"id": id, "type": "review-request", "from": "agent:writer", "to": string(o.to()),
					"subject": subject, "body": text, "issueId": "I-7", "agentId": "ag_9",
					"metadata": object{"k": []any{1, "é"}}, "read": false, "createdAt": o.at(),
				})
				m := said(o, id)
				m.Via, m.Metadata = "agenties", mail.Metadata(`{"k":[1,"é"],"agenties":{"agentId":"ag_9"}}`)
				return m, life(o)
			}},
		},
		reads: []reading{
			{"mailbox.jsonl", func(o *office, id mail.ID) object {
				return o.line("agenties", agentiesFile, id)
			}, agentiesMessage},
			{"read_messages", func(o *office, id mail.ID) object { return read(o, id, true) }, agentiesMessage},
		},
		mark: func(o *office, id mail.ID) {
			o.call("agenties", o.reader, "mark_read", object{"messageIds": []any{string(id)}})
		},
		isRead: func(o *office, id mail.ID) bool { m := read(o, id, false); return m != nil && m["read"] == true },
	}
}

func agentiesMessage(o *office, m *mail.Message) object {
	out := object{
		"id": m.ID, "type": m.Type, "from": m.From, "to": m.To[0], "body": m.Body, "read": false,
		"createdAt": m.Sent.String(),
	}
	meta := metadata(o, m)
	if a, ok := meta["agenties"].(object); ok {
		out["agentId"] = a["agentId"]
		delete(meta, "agenties")
	} else if m.Via == "" && m.From.Kind() == mail.ToAgent { // the sender
		out["agentId"] = m.From.Value()
	} else if m.Via == "" && m.To[0].Kind() == mail.ToAgent {
		out["agentId"] = m.To[0].Value()
	}
	beyond := object{}
	put(beyond, "priority", string(m.Priority))
	put(beyond, "thread", string(m.Thread))
	put(beyond, "replyTo", string(m.ReplyTo))
	if m.Docs != nil {
		beyond["docs"] = m.Docs
	}
	if len(beyond) > 0 {
		if meta == nil {
			meta = object{}
		}
		meta["pennypost"] = beyond
	}
	if meta != nil {
		out["metadata"] = meta
	}
	put(out, "subject", m.Subject)
	put(out, "issueId", m.Issue)
	return out
}

// put adds a member unless it is empty.
func put(to object, name, value string) {
	if value != "" {
		to[name] = value
	}
}

const haakFile = "data/agent-mailbox.jsonl"

func haakParty() party {
	said := func(o *office, id mail.ID) mail.Message {
		return mail.Message{ID: id, Type: mail.Custom, From: "agent:writer", To: []mail.Address{o.to()},
			Subject: subject, Body: text}
	}
	life := func(o *office, d time.Duration) time.Duration {
		if o.reader == mail.User && d == day { // the default is for mail to sessions
			return 0
		}
		return d
	}
	return party{
		name: "haak",
		sends: []sending{
			{name: "mailbox send", send: func(o *office) (mail.Message, time.Duration) {
				out := decode[object](o, o.verb("haak", "mailbox", "send", "--from", "writer", "--to",
					string(o.reader), "--subject", subject, "--body", text,
					"--thread", string(o.parent), "--ttl-hours", "48", "--json"))
				m := said(o, mail.ID(out["id"].(string)))
				m.ReplyTo, m.Thread, m.TTLSeconds = o.parent, o.parent, 48*3600
				if !isUUID(m.ID) {
					o.Errorf("the id is %s", m.ID)
				}
				return m, 2 * day
			}},
			{name: "send_message", send: func(o *office) (mail.Message, time.Duration) {
				out := o.call("haak", writer, "send_message", object{"to": string(o.reader), "subject": subject,
					"body": text})
				m := said(o, mail.ID(out["id"].(string)))
				if o.reader != mail.User {
					m.TTLSeconds = 24 * 3600
				}
				return m, life(o, day)
			}},
			{name: "agent-mailbox.jsonl", send: func(o *office) (mail.Message, time.Duration) {
				const id = "3f1c2f0e-5d5b-4b0a-9a51-1d2f0a7b9c11"
				o.append("haak", haakFile, object{
					"id": id, "sender": "writer", "recipient": string(o.reader),
					"timestamp": haakTime(mail.TimeOf(o.beds["haak"].Now())), "content": text,
					"thread": string(o.parent), "ttl_hours": 48,
					"read_by": []any{}, "subject": subject,
				})
				m := said(o, id)
				m.ReplyTo, m.Thread, m.TTLSeconds, m.Via = o.parent, o.parent, 48*3600, "haak"
				return m, 2 * day
			}},
		},
		reads: []reading{
			{"agent-mailbox.jsonl", func(o *office, id mail.ID) object {
				return o.line("haak", haakFile, id)
			}, haakMessage},
			{"mailbox list", func(o *office, id mail.ID) object {
				return find(decode[[]any](o, o.verb("haak", "mailbox", "list", "--json")), "id", id)
			}, haakMessage},
		},
		mark: func(o *office, id mail.ID) { // reading marks the shown messages
			list, _ := o.call("haak", o.reader, "read_mailbox", object{})["messages"].([]any)
			m := o.item(id).Message
			of := haakMessage(o, &m)
			want := object{"id": m.ID, "from": of["sender"], "to": of["recipient"], "subject": m.Subject,
				"body": of["content"], "timestamp": of["timestamp"]}
			put(want, "thread", string(m.ReplyTo))
			if diff := cmp.Diff(decode[object](o, o.json(want)), find(list, "id", id)); diff != "" {
				o.Errorf("read_mailbox (-want +got):\n%s", diff)
			}
			all := decode[[]any](o, o.verb("haak", "mailbox", "read", "--session-id", string(o.reader), "--json"))
			of["read_by"] = []any{o.reader}
			if diff := cmp.Diff(decode[object](o, o.json(of)), find(all, "id", id)); diff != "" {
				o.Errorf("mailbox read (-want +got):\n%s", diff)
			}
		},
		isRead: func(o *office, id mail.ID) bool {
			reads := o.text(o.beds["haak"], "data/agent-mailbox-reads.jsonl")
			for _, l := range split(reads) {
				if r := decode[object](o, l); r["message_id"] == string(id) &&
					r["reader_session_id"] == string(o.reader) {
					return true
				}
			}
			return false
		},
	}
}

func haakMessage(o *office, m *mail.Message) object {
	out := object{
		"id": m.ID, "sender": bare(m.From), "recipient": bare(m.To[0]), "timestamp": haakTime(m.Sent),
		"content": withDocs(m, " (", ")"), "thread": nil,
		"ttl_hours": nil, "read_by": []any{},
	}
	if m.ReplyTo != "" {
		out["thread"] = m.ReplyTo
	}
	switch toUser := m.To[0] == mail.ToUser; {
	case m.TTLSeconds == 0 && !toUser:
		out["ttl_hours"] = 7 * 24 // the room's default, which is not HAAK's
	case m.TTLSeconds != 0 && (toUser || m.TTLSeconds != 24*3600):
		out["ttl_hours"] = m.TTLSeconds / 3600
	}
	put(out, "subject", m.Subject)
	return out
}

// haakTime prints fractions only if they are not zero, without trailing zeros.
func haakTime(t mail.Time) string { return t.Std().Format("2006-01-02T15:04:05.999Z07:00") }

// withDocs returns a body followed by its documents.
func withDocs(m *mail.Message, before, after string) string {
	if len(m.Docs) == 0 {
		return m.Body
	}
	var b strings.Builder
	b.WriteString(m.Body)
	if m.Body != "" {
		b.WriteString("\n\n")
	}
	b.WriteString("Documents:")
	for _, d := range m.Docs {
		b.WriteString("\n- " + d.Path)
		if d.Revision != "" {
			b.WriteString(before + d.Revision + after)
		}
	}
	return b.String()
}

func superportiaParty() party {
	look := func(o *office, id mail.ID) object {
		list, _ := o.call("superportia", o.reader, "check_agent_mailbox", object{})["messages"].([]any)
		return find(list, "msg_id", id)
	}
	return party{
		name: "superportia",
		sends: []sending{{name: "send_agent_message", send: func(o *office) (mail.Message, time.Duration) {
			out := o.call("superportia", writer, "send_agent_message",
				object{"to": string(o.reader), "subject": subject, "body": text, "priority": "urgent"})
			return mail.Message{
				ID: mail.ID(out["msg_id"].(string)), Type: mail.Custom, From: "agent:writer",
				To: []mail.Address{o.to()}, Subject: subject, Body: text, Priority: mail.Urgent,
				TTLSeconds: int64(century / time.Second),
			}, century
		}}},
		reads: []reading{{"check_agent_mailbox", look, func(_ *office, m *mail.Message) object {
			priority := "normal"
			if m.Priority == mail.Urgent {
				priority = "urgent"
			}
			body, lead := m.Body, "\n\n"
			if m.ReplyTo != "" {
				body, lead = body+lead+"In reply to "+string(m.ReplyTo), "\n"
			}
			for _, d := range m.Docs {
				if body == "" {
					lead = ""
				}
				body, lead = body+lead+"Document: "+d.Path, "\n"
			}
			return object{
				"msg_id": m.ID, "from": bare(m.From), "to": bare(m.To[0]), "subject": m.Subject, "priority": priority,
				"read": false, "archived": false,
				"created_at": m.Sent.Std().Truncate(time.Second).Format(time.RFC3339), "body": body,
			}
		}}},
		mark:   func(o *office, id mail.ID) { o.call("superportia", o.reader, "mark_message", object{"msg_id": id}) },
		isRead: func(o *office, id mail.ID) bool { m := look(o, id); return m != nil && m["read"] == true },
	}
}

const openaliceFile = "data/inbox/entries.jsonl"

func openaliceParty() party {
	const label = "Writer's desk"
	said := func(id mail.ID) mail.Message {
		return mail.Message{
			ID: id, Type: mail.Custom, From: "agent:writer", To: []mail.Address{mail.ToUser},
			Body:     text,
			Docs:     []mail.Doc{{Path: "docs/plan.md"}},
			Metadata: mail.Metadata(`{"openalice":{"workspaceLabel":"Writer's desk"}}`),
		}
	}
	look := func(o *office, id mail.ID) object {
		w := o.beds["openalice"].Route("GET", "/api/inbox/history", "")
		list, _ := decode[object](o, w.Body.String())["entries"].([]any)
		return find(list, "id", id)
	}
	return party{
		name: "openalice",
		sends: []sending{
			{name: "inbox_push", only: mail.User, send: func(o *office) (mail.Message, time.Duration) {
				out := o.call("openalice", writer, "inbox_push", object{"docs": []any{object{"path": "docs/plan.md"}},
					"comments": text})
				m := said(mail.ID(out["entryId"].(string)))
				if !isUUID(m.ID) {
					o.Errorf("the id is %s", m.ID)
				}
				return m, 0
			}},
			{name: "entries.jsonl", only: mail.User, send: func(o *office) (mail.Message, time.Duration) {
				const id = "9b2f6a10-6c1d-4f0e-8d55-0c7f6b1e2a33"
				o.append("openalice", openaliceFile, object{
					"id": id, "ts": int64(mail.TimeOf(o.beds["openalice"].Now())), "workspaceId": "writer",
					"workspaceLabel": label,
					"docs":           []any{object{"path": "docs/plan.md", "revision": "r1"}}, "comments": text,
					"origin": object{"kind": "x"},
				})
				m := said(id)
				m.Docs[0].Revision, m.Via = "r1", "openalice"
				m.Metadata = mail.Metadata(`{"openalice":{"workspaceLabel":"Writer's desk","origin":{"kind":"x"}}}`)
				return m, 0
			}},
		},
		reads: []reading{
			{"entries.jsonl", func(o *office, id mail.ID) object {
				return o.line("openalice", openaliceFile, id)
			}, openaliceEntry},
			{"/api/inbox/history", look, openaliceRow},
		},
		mark: func(o *office, id mail.ID) {
			if w := o.beds["openalice"].Route("PUT", "/api/inbox/"+string(id)+"/read", ""); w.Code != 200 {
				o.Errorf("PUT read: %d %s", w.Code, w.Body)
			}
		},
		isRead: func(o *office, id mail.ID) bool {
			_, read := look(o, id)["readAt"]
			state := o.text(o.beds["openalice"], "data/inbox/read-state.json")
			if strings.Contains(state, string(id)) != read {
				o.Errorf("the history says %v, and read-state.json %s", read, state)
			}
			return read
		},
		carries: func(m *mail.Message) bool { return m.To[0] == mail.ToUser },
	}
}

func openaliceEntry(o *office, m *mail.Message) object {
	out := object{"id": m.ID, "ts": m.Sent, "workspaceId": bare(m.From), "workspaceLabel": "Writer's desk",
		"comments": m.Body}
	out["ts"] = int64(m.Sent)
	if m.Docs != nil {
		out["docs"] = m.Docs
	}
	inner, labelled := metadata(o, m)["openalice"].(object)
	if !labelled && m.Subject != "" {
		out["comments"] = "**" + m.Subject + "**\n\n" + m.Body
	}
	if origin, ok := inner["origin"]; ok {
		out["origin"] = origin
	}
	return out
}

// openaliceRow returns an entry as a list shows it.
func openaliceRow(o *office, m *mail.Message) object {
	out := openaliceEntry(o, m)
	out["room"], out["canReply"], out["preview"] = "lab", true, "Done."
	if text, _ := out["comments"].(string); strings.HasPrefix(text, "**") {
		out["preview"] = m.Subject
	}
	return out
}

const inbox = "inboxes/reader.json"

func claudeteamsParty() party {
	const id = "5c0a7b1e-1111-4222-8333-944455566677"
	entry := func(o *office, text, summary string) object {
		e := object{"from": "mate", "text": text, "timestamp": o.at(), "color": "blue", "msgV": 1, "msg_id": id,
			"type": "message", "read": false}
		put(e, "summary", summary)
		return e
	}
	said := func(o *office, typ mail.Type, subject, body, meta string) (mail.Message, time.Duration) {
		return mail.Message{
			ID: id, Type: typ, From: "agent:mate", To: []mail.Address{"agent:reader"}, Subject: subject, Body: body,
			Via:      "claudeteams",
			Metadata: mail.Metadata(`{"claudeteams":{"team":"` + team + `","color":"blue"` + meta + `}}`),
		}, 7 * day
	}
	letters := func(o *office) (list []any) {
		if text := o.text(o.beds["claudeteams"], inbox); text != "" {
			list = decode[[]any](o, text)
		}
		return list
	}
	const frameText = `{"type":"task_assignment","taskId":"3","subject":"Review","description":"Review store.go","assignedBy":"boss"}`
	return party{
		name: "claudeteams",
		sends: []sending{
			{name: "text in an inbox", never: mail.User, send: func(o *office) (mail.Message, time.Duration) {
				o.write(o.beds["claudeteams"], inbox, o.json([]any{entry(o, text, subject)}))
				return said(o, mail.Custom, subject, text, "")
			}},
			{name: "a frame in an inbox", never: mail.User, send: func(o *office) (mail.Message, time.Duration) {
				o.write(o.beds["claudeteams"], inbox, o.json([]any{entry(o, frameText, "")}))
				m, life := said(o, mail.TaskAssigned, "Review", "Review store.go",
					`,"type":"task_assignment","payload":`+frameText)
				m.Issue = team + "#3"
				return m, life
			}},
		},
		reads: []reading{{"inbox", func(o *office, want mail.ID) object {
			list := letters(o)
			if len(list) > 1 {
				o.Fatalf("the inbox has %v", list)
			}
			if len(list) == 0 {
				return nil
			}
			return list[0].(object)
		}, func(o *office, m *mail.Message) object {
			// the entry is the original one
			if frame := metadata(o, m)["claudeteams"]; m.Via == "claudeteams" && frame != nil {
				if _, ok := frame.(object)["payload"]; ok {
					return entry(o, frameText, "")
				}
				return entry(o, m.Body, m.Subject)
			}
			out := object{
				"from": bare(m.From), "summary": m.Subject,
				"text": withDocs(m, " at ", "") + "\n\nThis is message " + string(m.ID) +
					" of Pennypost, from outside of " +
					"the team: SendMessage does not reach the sender. Answer with Pennypost's tool send_message: " +
					`{"to":["` + string(m.From) + `"],"reply_to":"` + string(m.ID) + `","body":"…"}`,
				"timestamp": m.Sent.String(), "msgV": 1, "msg_id": m.ID, "type": "message", "read": false,
			}
			if !isUUID(m.ID) { // otherwise a UUID is derived from it
				derived, _ := letters(o)[0].(object)["msg_id"].(string)
				if !isUUID(mail.ID(derived)) {
					o.Errorf("msg_id is %q, want a UUID", derived)
				}
				out["msg_id"] = derived
			}
			return out
		}}},
		mark: func(o *office, id mail.ID) { // as Claude Code does after delivering the message
			b := o.beds["claudeteams"]
			o.write(b, inbox, strings.Replace(strings.Replace(o.text(b, inbox), `"read": false`, `"read": true`, 1),
				`"read":false`, `"read":true`, 1))
		},
		carries: func(m *mail.Message) bool { return m.To[0] == "agent:reader" },
	}
}

func isUUID(id mail.ID) bool {
	return len(id) == 36 && strings.Count(string(id), "-") == 4
}
