// Package model is a scripted model: an HTTP server on loopback that real clients take for their model's.
//
// It speaks Anthropic Messages, OpenAI Responses and Chat Completions, and Gemini generateContent, streamed and whole.
// The conversation itself holds the answers, so a test arranges nothing per session: the newest text of a user that
// has directives is the script, and each answer of the model since then is one step of it.
//
//	[[sh COMMAND]]          calls the client's tool that runs a shell command, whatever its name
//	[[tool NAME {JSON}]]    calls a tool; NAME may be the end of a name, such as read_messages
//	[[say TEXT]]            says something, which ends the turn
//	[[sleep SECONDS]]       delays the step after it
//	[[hold NAME]]           delays the step after it until the test calls Release(NAME)
//	[[fail STATUS]]         answers with that HTTP status instead
//
// After the last step it says "ok". In a string of a tool's input, {{PATTERN}} becomes the last match, in the
// conversation, of the pattern's first group. The model invents input that a tool requires and the script omits. It
// does not obey a script again if the client did not wait for the answer (Esc).
//
// It keeps every request: tests check a model's input, not the output of a hook.
package model
