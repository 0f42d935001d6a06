package fence

import (
	"slices"
	"strings"
	"sync"

	"pennypost/internal/base/confusable"
)

// obeyed returns the tags that clients and models obey, each with the client and where it was observed. Names are in
// lower case, with hyphens for underscores. A trailing asterisk matches all names that begin so, a leading one all
// that end so. A name without a hyphen must be a whole tag, because code is full of such words.
func obeyed() []struct{ names, source string } {
	return []struct{ names, source string }{
		{"mail mail-*", "the fence, here and before tags were random"},

		// Claude Code 2.1.330: requests of the real client (research/realclients.md) and its documentation
		// (research/clients.md: hooks, socket, teams, channels).
		{
			"system-* *-reminder",
			"Claude Code: <system-reminder> around task notices and context; Cursor, opencode: the same",
		},
		{
			"*-hook",
			"Claude Code: <user-prompt-submit-hook>, <session-start-hook>, <post-tool-use-hook> around hooks' output",
		},
		{
			"teammate-* cross-session-* agent-message channel channel-message",
			"Claude Code: mail of teams, of the socket, of channels",
		},
		{
			"task-notification task-id task-result",
			"Claude Code: background work ended; opencode: a task's result",
		},
		{
			"command-* local-command-* bash-*",
			"Claude Code: its person's / and ! commands, and their output",
		},
		{
			"ide-* persisted-output new-diagnostics user-memory-input",
			"Claude Code: the editor, spilled output, notes",
		},
		{
			"function-* function-calls invoke antml* tool-* thinking",
			"Claude Code: calls of tools, their results and errors, thoughts",
		},

		// Codex CLI 0.169.0: requests of the real client, and the fragments that openai/codex marks as context.
		{
			"environment-context user-instructions *-instructions instructions",
			"Codex: surroundings, AGENTS.md, skills, plugins",
		},
		{
			"permissions-instructions turn-aborted subagent-* agent-* user-shell-command",
			"Codex: permissions, broken turns, subagents, the person's shell",
		},
		{
			"hook-* hooks-context model-switch collaboration-mode personality-spec",
			"Codex: <hook_prompt> around the reason of Stop, modes",
		},
		{
			"realtime-conversation recommended-plugins pinned-notes reasoning-context",
			"Codex: fragments of its history",
		},

		// Gemini CLI 0.61.0: requests of the real client; google-gemini/gemini-cli packages/cli, packages/core.
		{
			"hook-context session-context state-snapshot untrusted-context",
			"Gemini CLI: additional context of hooks, session, compression, tool output",
		},
		{"loaded-context global-context project-context extension-context", "Gemini CLI: GEMINI.md"},

		// Cursor, as seen in transcripts that other programs parse.
		{
			"user-query user-info user-rules attached-files additional-data",
			"Cursor: the person's prompt and its context",
		},
		{
			"open-and-recently-viewed-files manually-attached-skills git-status cursor-rules",
			"Cursor: the editor's state",
		},

		// VS Code, Copilot Chat and CLI 1.0.102: microsoft/vscode-copilot-chat prompts; requests of the real CLI.
		{
			"reminderinstructions userrequest tooluseinstructions editorcontext reminder",
			"Copilot: the person's prompt and standing orders",
		},
		{
			"environment-info environment-details workspace-info custom-instruction current-datetime",
			"Copilot, cline: surroundings",
		},

		// Chat templates of models: separators of turns.
		{"system sys developer user assistant human", "roles in prompts of every model; <<SYS>> of Llama"},
		{"policy env important context", "sections in which harnesses put rules and surroundings"},
		{"user-message user-prompt user-request assistant-message human-message", "the same, as harnesses spell it"},
		{"think", "thoughts of DeepSeek, Qwen and others"},
		{"start-of-turn end-of-turn", "Gemma; the <|im_start|> of others is known by its bar"},
	}
}

// longestName is more than the length of the longest name above.
const longestName = 64

type table struct {
	whole          map[string]bool
	begins, endsIn []string
}

// tags is obeyed prepared for lookups, on first use: most commands render no mail.
var tags = sync.OnceValue(func() table { return tabled(func(name string) string { return name }) })

// skeletons is tags for names with look-alike letters.
var skeletons = sync.OnceValue(func() table { return tabled(confusable.Skeleton) })

func tabled(spelled func(string) string) table {
	t := table{whole: make(map[string]bool)}
	for _, o := range obeyed() {
		for name := range strings.FieldsSeq(o.names) {
			if head, ok := strings.CutSuffix(name, "*"); ok {
				t.begins = append(t.begins, spelled(head))
			} else if tail, ok := strings.CutPrefix(name, "*"); ok {
				t.endsIn = append(t.endsIn, spelled(tail))
			} else {
				t.whole[spelled(name)] = true
			}
		}
	}
	return t
}

// either reports whether is holds for a name as spelled or, if it has look-alike letters, for its skeleton.
func either(name string, is func(t table, name string) bool) bool {
	return is(tags(), strings.ToLower(name)) || twins(name) && is(skeletons(), confusable.Skeleton(name))
}

// twins reports whether a name has letters that look like others: I for l, 1 for i, rn for m.
func twins(name string) bool {
	return strings.ContainsAny(name, "I10|") || strings.Contains(name, "rn")
}

// reads reports whether a reader takes name for one, a name in lower case.
func reads(name, one string) bool {
	return strings.ToLower(name) == one || twins(name) && confusable.Skeleton(name) == confusable.Skeleton(one)
}

// isFamily reports whether a name begins with a client's prefix, however it continues.
func isFamily(name string) bool { return either(name, table.family) }

func (t table) family(name string) bool {
	return slices.ContainsFunc(t.begins, func(head string) bool { return strings.HasPrefix(name, head) })
}

// isCompound reports whether only clients use a name.
func isCompound(name string) bool {
	return either(name, func(t table, name string) bool {
		bare := strings.TrimRight(name, "-")
		return t.family(name) || strings.Contains(bare, "-") && t.whole[bare] ||
			slices.ContainsFunc(t.endsIn, func(tail string) bool { return strings.HasSuffix(bare, tail) })
	})
}

// isOrdinary reports whether a client uses a name that other texts use too.
func isOrdinary(name string) bool {
	return either(name, func(t table, name string) bool { return t.whole[strings.TrimRight(name, "-")] })
}
