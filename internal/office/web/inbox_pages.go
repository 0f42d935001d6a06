package web

import "embed"

// inboxPages are the inbox, letters, and what a person does with mail.
func inboxPages() Part {
	known := new(workspaces)
	return Part{Templates: embed.FS{}, Routes: map[string]handler{
		"GET /{$}": known.inbox,

		"GET /letter":  inRoom(showLetter),
		"GET /doc":     inRoom(serveDocument),
		"POST /opened": inRoom(opened),
		"POST /mark":   inRoom(mark),
		"POST /delete": inRoom(remove),
		"POST /undo":   inRoom(takeBack),
		"POST /answer": inRoom(answer),
		"POST /attach": inRoom(attach),

		"POST /send":    inRoom(sendMail),
		"GET /compose":  inRoom(compose),
		"POST /compose": inRoom(sendComposed),
		"POST /preview": inRoom(preview),
	}}
}
