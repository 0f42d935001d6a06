package webtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// rich fills a room with content of every kind, and returns the paths of its pages by description.
func (r *room) rich() map[string]string {
	r.t.Helper()
	docs := filepath.Join(r.t.TempDir(), "work")
	for name, text := range map[string]string{
		"plan.md": "# Plan\n\n- [x] read\n- [ ] write\n\n> quoted\n",
		"main.go": "package main\n\nfunc main() { println(\"hello\") }\n", "data.bin": "\x00\x01\x02",
		"page.html": "<h1>Page</h1><script>alert(1)</script>",
		"dot.svg":   `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 4"><circle cx="2" cy="2" r="2"/></svg>`,
	} {
		if err := os.MkdirAll(docs, 0o755); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(docs, name), []byte(text), 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
	r.run("workspace", "add", "writer", docs)
	r.run("agents", "register", "lead", "--role", "orchestrator", "--state", "idle")
	r.run("agents", "register", "builder-1", "--role", "builder", "--tag", "project:parser", "--state", "working",
		"--task", "the parser", "--client", "claude-code", "--parent", "lead")
	r.run("agents", "register", "小克 builder", "--role", "builder", "--tag", "project:parser", "--state", "idle",
		"--parent", "builder-1")
	const question, task, read = "msg_question00000000000000", "msg_task000000000000000000",
		"msg_report0000000000000003"
	r.fill(append(reports(12),
		letter{ID: task, Type: "task-assigned", From: "agent:lead", To: []string{"agent:builder-1"},
			Subject: "The parser", Body: "Write it, *please*.", Issue: "PP-12"},
		letter{Type: "question", From: "agent:builder-1", To: []string{"agent:lead"}, Body: "By hand?", ReplyTo: task,
			Thread: task, ID: "msg_reply00000000000000001"},
		letter{Type: "answer", From: "agent:lead", To: []string{"agent:builder-1"}, Body: "By hand.",
			ReplyTo: "msg_reply00000000000000001", Thread: task, ID: "msg_reply00000000000000002"},
		letter{Type: "status", From: "agent:builder-1", To: []string{"project:parser"}, Body: "Half of it stands."},
		letter{Type: "review-request", From: "agent:builder-1", To: []string{"role:reviewer"}, Subject: "Please look"},
		letter{Type: "status", From: "agent:writer", Subject: "With documents", ID: "msg_documents0000000000000",
			Body: "See there.", Docs: []doc{{"plan.md"}, {"main.go"}, {"dot.svg"}, {"data.bin"}, {"page.html"},
				{"gone.md"}}},
		letter{Type: "custom", From: "agent:builder-1", Priority: "urgent", Subject: "Everything that Markdown has",
			ID: "msg_markdown00000000000000", Body: markdown},
		letter{
			ID: question, Type: "question", From: "agent:builder-1", Subject: "Which of the two?",
			Body: "Left or right?",
			Metadata: map[string]any{"options": []any{"Left",
				map[string]any{"label": "Right", "description": "it costs more"}}},
		},
	)...)
	r.run("mark", read, "--read")
	r.send("lead", "小克 builder", "Are you there?", "--type", "question")
	return map[string]string{
		"inbox": "/", "question": "/?m=" + question, "documents": "/?m=msg_documents0000000000000",
		"markdown": "/?m=msg_markdown00000000000000",
		"snoozed":  "/?show=snoozed", "agents": "/agents", "agent": "/agents/builder-1", "channels": "/channels",
		"channel": "/channels/project:parser",
		"history": "/history", "filtered": "/history?type=question&agent=builder-1", "nothing found": "/history?q=" +
			strings.Repeat("x", 30),
		"flow": "/flow", "who talks to whom": "/flow?view=talk", "stuck": "/stuck", "thread": "/t/" + task,
		"compose": "/compose", "palette": "/palette?q=par", "failure": "/t/msg_nowhere",
	}
}

var markdown = fmt.Sprintf("# One\n\n## Two\n\nText with `code`, a [link](https://example.org) and ![a "+
	"picture](https://example.org/x.png).\n\n```go\nfunc main() {}\n```\n\n"+
	"| a | b |\n|---|---|\n| 1 | 2 |\n\n1. one\n2. two\n\n- [ ] open\n- [x] done\n\n> quoted\n\n---\n\n%s\n",
	"```\n"+strings.Repeat("a wide line ", 40)+"\n```")
