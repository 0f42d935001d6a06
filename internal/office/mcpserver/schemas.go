package mcpserver

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pennypost/internal/mail"
)

// A tool is one of the six. Its schemas are written by hand, because every agent pays for them in tokens, and its
// input is decoded by us, strictly, because the SDK's validation costs more than the call.
type tool struct {
	name        string
	description string
	input       string
	hints       mcp.ToolAnnotations
	call        func(n *Native, ctx context.Context, c *toolCall) (string, error)
	waits       bool // and tells progress
}

func tools() []tool {
	typeNames := `["` + mail.TypeNames(`","`) + `"]`
	closed := new(false)
	reads := mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: closed}
	changes := mcp.ToolAnnotations{IdempotentHint: true, OpenWorldHint: closed, DestructiveHint: closed}
	sends := mcp.ToolAnnotations{OpenWorldHint: closed, DestructiveHint: closed}
	return []tool{
		{
			name: "send_message",
			description: "Send a message. Returns its id and, per recipient, its state and whether and how they " +
				"will be woken.",
			input: `{"type":"object","required":["to","body"],"additionalProperties":false,"properties":{` +
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
				`"ttl_hours":{"type":"number"}}}`,
			hints: sends, call: (*Native).sendMessage,
		},
		{
			name: "read_messages",
			description: "Read mail: what is unread, oldest first, naming only what this session was given " +
				"before; with id, thread, since, to or query, also what was read. Marks nothing.",
			input: `{"type":"object","additionalProperties":false,"properties":{` +
				`"id":{"type":"string"},"offset":{"type":"integer",` +
				`"description":"with id: where in a long text to read on"},"thread":{"type":"string"},` +
				`"since":{"type":"string","description":"RFC 3339 time"},` +
				`"to":{"type":"string","description":"only mail to this address"},` +
				`"query":{"type":"string","description":"words or \"phrases\" to find"},` +
				`"after":{"type":"integer"},"before":{"type":"integer","description":"as an answer says it"},` +
				`"limit":{"type":"integer"}}}`,
			hints: reads, call: (*Native).readMessages,
		},
		{
			name:        "mark_messages",
			description: "Mark your mail. Give ids, or all.",
			input: `{"type":"object","additionalProperties":false,"properties":{` +
				`"ids":{"type":"array","items":{"type":"string"}},"all":{"type":"boolean"},` +
				`"mark":{"enum":["read","unread","archived","unarchived"],"default":"read"}}}`,
			hints: changes, call: (*Native).markMessages,
		},
		{
			name: "wait_for_messages",
			description: "Wait until unread mail is there that you were not shown, then return the first. Marks " +
				"nothing.",
			input: `{"type":"object","additionalProperties":false,"properties":{` +
				`"types":{"type":"array","items":{"enum":` + typeNames + `}},` +
				`"reply_to":{"type":"string","description":"only an answer to this id"},` +
				`"after":{"type":"integer"},` +
				`"timeout_seconds":{"type":"number","description":"default 600, at most 86400"}}}`,
			hints: reads, call: (*Native).waitForMessages, waits: true,
		},
		{
			name:        "list_agents",
			description: "List who is here, the live first: roles, tags, state, task, last seen, unread.",
			input: `{"type":"object","additionalProperties":false,"properties":{` +
				`"role":{"type":"string"},"state":{"enum":["working","idle","frozen","gone"]},` +
				`"query":{"type":"string","description":"text in name, roles, tags or task"},` +
				`"after":{"type":"string","description":"next of the page before"},"limit":{"type":"integer"}}}`,
			hints: reads, call: (*Native).listAgents,
		},
		{
			name:        "set_presence",
			description: "Say who you are and what you do. What you leave out stays.",
			input: `{"type":"object","additionalProperties":false,"properties":{` +
				`"name":{"type":"string","description":"new name for you"},` +
				`"roles":{"type":"array","items":{"type":"string"}},` +
				`"tags":{"type":"array","items":{"type":"string"},"description":"project:x, concern:x, domain:x"},` +
				`"task":{"type":"string"},` +
				`"state":{"enum":["working","idle","frozen","gone"]}}}`,
			hints: changes, call: (*Native).setPresence,
		},
	}
}
