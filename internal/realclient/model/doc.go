// Package model is a scripted model: an HTTP server on loopback that real clients take for their model's.
//
// It speaks Anthropic Messages, OpenAI Responses and Chat Completions, and Gemini generateContent, streamed and whole.
// What it answers stands in the conversation itself, so that nothing has to be arranged per session: the newest text
// of a user that has directives is the script, and each answer of the model since then is one step of it.
//
//	[[sh COMMAND]]          calls the client's tool that runs a shell command, whatever it is called
//	[[tool NAME {JSON}]]    calls a tool; NAME may be the end of a name, such as read_messages
//	[[say TEXT]]            says something, which ends the turn
//	[[sleep SECONDS]]       delays the step behind it
//	[[hold NAME]]           delays the step behind it until the test calls Release(NAME)
//	[[fail STATUS]]         answers with that HTTP status instead
//
// Behind the last step it says "ok". In a string of a tool's input, {{PATTERN}} becomes what the first group of the
// pattern found last in the conversation. What a tool requires and the script leaves out is made up. A script whose
// answer the client did not wait for (Esc) is not obeyed again.
//
// Every request is kept: assertions are about what a model was given, and not about what a hook printed.
package model
