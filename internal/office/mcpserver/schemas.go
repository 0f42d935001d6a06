package mcpserver

import (
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// tools returns the six tools. Their schemas are written by hand, because every agent pays for them in tokens, and
// we decode their input ourselves, strictly, because the SDK's validation costs more than the call.
func tools() []dialect.Tool {
	typeNames := `["` + mail.TypeNames(`","`) + `"]`
	return []dialect.Tool{
		{
			Name: "send_message",
			Description: "Send a message. Returns its id and, per recipient, its state and whether and how they " +
				"will be woken.",
			Input: `{"type":"object","required":["to","body"],"additionalProperties":false,"properties":{` +
				`"to":{"type":["string","array"],"items":{"type":"string"},` +
				`"description":"address or list: agent name, role:R, tag, orchestrator, user, all"},` +
				`"body":{"type":"string","description":"Markdown, at most 64 KiB"},` +
				`"type":{"enum":` + typeNames + `},` +
				`"subject":{"type":"string"},` +
				`"reply_to":{"type":"string","description":"id of the message answered"},` +
				`"priority":{"enum":["normal","urgent"]},` +
				`"issue_id":{"type":"string"},` +
				`"metadata":{"type":"object","description":"review-result: verdict ` +
				`approved|changes-requested|blocked; question to user: options; ` +
				`answer: declined to refuse one"},` +
				`"docs":{"type":"array","items":{"type":"string"},"description":"paths of documents"},` +
				`"ttl_hours":{"type":"number"},` +
				`"at":{"type":"string","description":"send it later: RFC 3339 time, or 2h; ` +
				`to yourself with reply_to: a reminder"},` +
				`"key":{"type":"string","description":"idempotency key"}}}`,
			Run: dialect.With(sendMessage),
		},
		{
			Name: "read_messages",
			Description: "Read unread mail, oldest first; mail already given in this session is only named. With " +
				"id, thread, since, to or query, also read mail. Marks nothing.",
			Input: `{"type":"object","additionalProperties":false,"properties":{` +
				`"id":{"type":"string"},"offset":{"type":"integer",` +
				`"description":"with id: byte of the text to start at"},"thread":{"type":"string"},` +
				`"since":{"type":"string","description":"RFC 3339 time"},` +
				`"to":{"type":"string","description":"only mail to this address"},` +
				`"query":{"type":"string","description":"words or \"phrases\" to find"},` +
				`"after":{"type":"integer"},"before":{"type":"integer","description":"from an answer"},` +
				`"limit":{"type":"integer"}}}`,
			ReadOnly: true, Idempotent: true, Run: dialect.With(readMessages),
		},
		{
			Name:        "mark_messages",
			Description: "Mark your mail. Give ids, or all.",
			Input: `{"type":"object","additionalProperties":false,"properties":{` +
				`"ids":{"type":"array","items":{"type":"string"}},"all":{"type":"boolean"},` +
				`"mark":{"enum":["read","unread","archived","unarchived"],"default":"read"}}}`,
			Idempotent: true, Run: dialect.With(markMessages),
		},
		{
			Name:        "wait_for_messages",
			Description: "Wait for unread mail that you were not shown, then return the first. Marks nothing.",
			Input: `{"type":"object","additionalProperties":false,"properties":{` +
				`"types":{"type":"array","items":{"enum":` + typeNames + `}},` +
				`"reply_to":{"type":"string","description":"only an answer to this id"},` +
				`"after":{"type":"integer"},` +
				`"timeout_seconds":{"type":"number","description":"default 600, at most 86400"}}}`,
			ReadOnly: true, Idempotent: true, Waits: true, Run: dialect.With(waitForMessages),
		},
		{
			Name:        "list_agents",
			Description: "List agents, live ones first: roles, tags, state, task, last seen, unread.",
			Input: `{"type":"object","additionalProperties":false,"properties":{` +
				`"role":{"type":"string"},"state":{"enum":["working","asking","idle","frozen","gone"]},` +
				`"query":{"type":"string","description":"text in name, roles, tags or task"},` +
				`"after":{"type":"string","description":"next of a page"},"limit":{"type":"integer"}}}`,
			ReadOnly: true, Idempotent: true, Run: dialect.With(listAgents),
		},
		{
			Name:        "set_presence",
			Description: "Say who you are and what you do. Omitted fields stay.",
			Input: `{"type":"object","additionalProperties":false,"properties":{` +
				`"name":{"type":"string","description":"new name for you"},` +
				`"roles":{"type":"array","items":{"type":"string"}},` +
				`"tags":{"type":"array","items":{"type":"string"},"description":"project:x, concern:x, domain:x"},` +
				`"task":{"type":"string"},` +
				`"claim":{"type":"array","items":{"type":"string"},"description":"paths, port:N or names that only ` +
				`you may write or use now"},"release":{"type":"array","items":{"type":"string"}},` +
				`"state":{"enum":["working","idle","frozen","gone"]}}}`,
			Idempotent: true, Run: dialect.With(setPresence),
		},
	}
}
