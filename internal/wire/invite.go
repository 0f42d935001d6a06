package wire

import "pennypost/internal/mail"

// Invite asks for a code that lets a machine in, once.
type Invite struct {
	Rooms []mail.RoomName `json:"rooms,omitempty"` // that the machine may enter; empty: all
	Agent mail.Name       `json:"agent,omitempty"` // as whom alone it may speak; empty: as any agent and the user
	// Good is for how long the code can be used, in seconds; default 30 minutes, at most a day.
	Good int64 `json:"good_s,omitzero"`
	// For is for how long the machine is let in then, in seconds; 0 means until it is revoked.
	For int64 `json:"for_s,omitzero"`
}

// Invited answers it.
type Invited struct {
	URL         string    `json:"url"`  // where the machine finds the post office
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

// Joined answers it.
type Joined struct {
	Token   string          `json:"token"` // of the machine, shown only here
	Machine mail.Machine    `json:"machine"`
	Rooms   []mail.RoomName `json:"rooms,omitempty"`
	Agent   mail.Name       `json:"agent,omitempty"`
	Expires mail.Time       `json:"expires,omitzero"`
}

// Machine is another machine that was let in.
type Machine struct {
	Name    mail.Machine    `json:"name"`
	Rooms   []mail.RoomName `json:"rooms,omitempty"` // that it may enter; empty: all
	Agent   mail.Name       `json:"agent,omitempty"` // as whom alone it may speak
	Joined  mail.Time       `json:"joined"`
	Expires mail.Time       `json:"expires,omitzero"`
	Seen    mail.Time       `json:"seen,omitzero"` // when it last asked something, to within a minute
	From    string          `json:"from,omitempty"`
}

// OpenCode is a code that nobody has used yet.
type OpenCode struct {
	ID      string          `json:"id"` // names it; it opens nothing
	Rooms   []mail.RoomName `json:"rooms,omitempty"`
	Agent   mail.Name       `json:"agent,omitempty"`
	Made    mail.Time       `json:"made"`
	Expires mail.Time       `json:"expires"`
	For     int64           `json:"for_s,omitzero"`
}

// Invites are the machines that were let in, by name, and the codes that wait to be used.
type Invites struct {
	Machines []Machine  `json:"machines"`
	Codes    []OpenCode `json:"codes"`
}

// ScriptPrefix begins every credential for scripts, so that scanners for leaked secrets can know one.
const ScriptPrefix = "pp-script."

// MachinePrefix begins every token of a machine, so that scanners for leaked secrets can know one.
const MachinePrefix = "pp-machine."
