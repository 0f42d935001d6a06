package inbox

import (
	"embed"

	"pennypost/internal/office/web/page"
)

//go:embed templates
var templates embed.FS

// Pages are the inbox, letters, and the person's work with mail.
func Pages() page.Part {
	known := new(workspaces)
	return page.Part{Templates: templates, Routes: map[string]page.Handler{
		"GET /{$}": known.inbox,

		"GET /letter":  page.InRoom(showLetter),
		"GET /waiters": page.InRoom(showWaiters),
		"GET /doc":     page.InRoom(serveDocument),
		"POST /opened": page.InRoom(opened),
		"POST /mark":   page.InRoom(mark),
		"POST /delete": page.InRoom(remove),
		"POST /undo":   page.InRoom(takeBack),
		"POST /answer": page.InRoom(answer),
		"POST /attach": page.InRoom(attach),
		"GET /dialog":  page.InRoom(showDialog),
		"POST /dialog": page.InRoom(answerDialog),
		"GET /away":    page.InRoom(showAway),
		"POST /away":   page.InRoom(setAway),

		"POST /send":    page.InRoom(sendMail),
		"GET /compose":  page.InRoom(compose),
		"POST /compose": page.InRoom(sendComposed),
		"POST /later":   page.InRoom(later),
		"POST /preview": page.InRoom(preview),
	}}
}
