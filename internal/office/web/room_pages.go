package web

import "embed"

// roomPages are what is in one room, and how much of it is stuck.
func roomPages() (Part, func(*view) int) {
	kept := new(tallies)
	return Part{Templates: embed.FS{}, Routes: map[string]handler{
		"GET /agents":             agents,
		"GET /agents/{name}":      inRoom(agentMail),
		"GET /channels":           channels,
		"GET /channels/{address}": inRoom(channels),
		"GET /history":            history,
		"GET /history/export":     inRoom(exportHistory),
		"GET /t/{id...}":          inRoom(thread),
		"POST /t/{id...}":         inRoom(threadRead),

		"GET /stuck":           kept.stuck,
		"POST /stuck/again":    inRoom(sendOn),
		"POST /stuck/tell":     inRoom(tellSenders),
		"POST /stuck/role":     inRoom(giveRole),
		"POST /stuck/thaw":     inRoom(thaw),
		"POST /stuck/dismiss":  inRoom(dismiss),
		"POST /stuck/sync":     inRoom(kept.syncBridge),
		"POST /stuck/verify":   inRoom(verifyRoom),
		"POST /stuck/remind":   inRoom(remind),
		"POST /stuck/withdraw": inRoom(withdraw),
	}}, kept.count
}
