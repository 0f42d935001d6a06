package wire

import "pennypost/internal/mail"

// Invite asks for a code that lets a machine in, once.
type Invite struct {
	Rooms []mail.RoomName `json:"rooms,omitempty"` // rooms that the machine may enter; empty: all
	Agent mail.Name       `json:"agent,omitempty"` // only as whom it may speak; empty: any agent and the user
	// Good is how long the code is valid, in seconds; default 30 minutes, at most a day.
	Good int64 `json:"good_s,omitzero"`
	// For is how long the machine then has access, in seconds; 0 means until it is revoked.
	For int64 `json:"for_s,omitzero"`
}

// Invited answers Invite.
type Invited struct {
	URL         string    `json:"url"`  // at which the machine finds the post office
	Code        string    `json:"code"` // shown only here
	ID          string    `json:"id"`   // names the code in lists; it opens nothing
	Expires     mail.Time `json:"expires"`
	Fingerprint string    `json:"fingerprint"` // SHA-256 of the certificate, as browsers show it
}

// Join uses a code up.
type Join struct {
	Secret  string       `json:"secret"`
	Machine mail.Machine `json:"machine"`
}

// Joined answers Join.
type Joined struct {
	Token   string          `json:"token"` // the machine's, shown only here
	Machine mail.Machine    `json:"machine"`
	Rooms   []mail.RoomName `json:"rooms,omitempty"`
	Agent   mail.Name       `json:"agent,omitempty"`
	Expires mail.Time       `json:"expires,omitzero"`
}

// Machine is another machine that was let in.
type Machine struct {
	Name    mail.Machine    `json:"name"`
	Rooms   []mail.RoomName `json:"rooms,omitempty"` // rooms that it may enter; empty: all
	Agent   mail.Name       `json:"agent,omitempty"` // the only agent as which it may speak
	Joined  mail.Time       `json:"joined"`
	Expires mail.Time       `json:"expires,omitzero"`
	Seen    mail.Time       `json:"seen,omitzero"` // its last request, to within a minute
	From    string          `json:"from,omitempty"`
}

// OpenCode is a code that has not been used yet.
type OpenCode struct {
	ID      string          `json:"id"` // names it; it opens nothing
	Rooms   []mail.RoomName `json:"rooms,omitempty"`
	Agent   mail.Name       `json:"agent,omitempty"`
	Made    mail.Time       `json:"made"`
	Expires mail.Time       `json:"expires"`
	For     int64           `json:"for_s,omitzero"`
}

// Invites are the machines that were let in, by name, and the unused codes.
type Invites struct {
	Machines []Machine  `json:"machines"`
	Codes    []OpenCode `json:"codes"`
}

// ScriptPrefix begins every credential for scripts, so that scanners for leaked secrets recognise it.
const ScriptPrefix = "pp-script."

// MachinePrefix begins every token of a machine, so that scanners for leaked secrets recognise it.
const MachinePrefix = "pp-machine."
