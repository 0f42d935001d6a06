package wire

import "pennypost/internal/mail"

// NewCredential asks for a credential for scripts.
type NewCredential struct {
	Name string        `json:"name"`
	Room mail.RoomName `json:"room,omitempty"` // the only room that it opens; empty: all
	For  int64         `json:"for_s,omitzero"` // validity in seconds; 0 means until it is revoked
}

// Credential is a credential for scripts.
type Credential struct {
	Name    string        `json:"name"`
	Room    mail.RoomName `json:"room,omitempty"`
	Made    mail.Time     `json:"made"`
	Expires mail.Time     `json:"expires,omitzero"`
	Seen    mail.Time     `json:"seen,omitzero"` // when it was last used, as far as recorded
}

// MadeCredential answers NewCredential.
type MadeCredential struct {
	Credential
	Token string `json:"token"` // shown only here
}

// Credentials are the valid ones, by name.
type Credentials struct {
	Credentials []Credential `json:"credentials"`
}

// Confirmation is the passphrase that the person has typed, for important acts at that terminal.
type Confirmation struct {
	Passphrase string `json:"passphrase"`
}

// NewPassphrase sets the passphrase.
type NewPassphrase struct {
	Old string `json:"old,omitempty"` // the previous one; empty: there was none
	New string `json:"new"`
}
