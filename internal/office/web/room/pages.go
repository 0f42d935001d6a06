package room

import (
	"embed"

	"pennypost/internal/office/web/page"
)

//go:embed templates
var templates embed.FS

// Pages returns the pages of one room, and a function that counts its stuck mail.
func Pages() (page.Part, func(*page.View) int) {
	kept := new(tallies)
	return page.Part{Templates: templates, Routes: map[string]page.Handler{
		"GET /agents":             agents,
		"GET /agents/{name}":      page.InRoom(agentMail),
		"POST /claims/free":       page.InRoom(free),
		"GET /channels":           channels,
		"GET /channels/{address}": page.InRoom(channels),
		"GET /history":            history,
		"GET /history/export":     page.InRoom(exportHistory),
		"GET /t/{id...}":          page.InRoom(thread),
		"POST /t/{id...}":         page.InRoom(threadRead),

		"GET /scheduled":         scheduled,
		"POST /scheduled/move":   page.InRoom(move),
		"POST /scheduled/cancel": page.InRoom(cancel),

		"GET /stuck":           kept.stuck,
		"POST /stuck/again":    page.InRoom(sendOn),
		"POST /stuck/tell":     page.InRoom(tellSenders),
		"POST /stuck/role":     page.InRoom(giveRole),
		"POST /stuck/thaw":     page.InRoom(thaw),
		"POST /stuck/dismiss":  page.InRoom(dismiss),
		"POST /stuck/sync":     page.InRoom(kept.syncBridge),
		"POST /stuck/verify":   page.InRoom(verifyRoom),
		"POST /stuck/remind":   page.InRoom(remind),
		"POST /stuck/withdraw": page.InRoom(withdraw),
	}}, kept.count
}
