// Package sessions stores the facts that hooks report about the sessions on this machine: how to reach each, and
// whether it lives. It knows no doors and no rooms. A List has all of it, and survives a restart in a file; its
// secrets are never printed.
package sessions
