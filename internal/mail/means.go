package mail

// Means is how a caller was identified. The gate derives it from the connection; no argument carries it.
type Means string

// The means that identify the person, and those that identify the person's programs.
const (
	ByPages    Means = "pages"    // a browser session that a one-time link began
	ByPhone    Means = "phone"    // a paired phone
	ByTerminal Means = "terminal" // a terminal that a person sits at, with no agent above the process
	ByOperator Means = "operator" // the operator's token
	ByScript   Means = "script"   // a credential that the person made for scripts: it sends and marks
	ByButton   Means = "button"   // an option of a notification, over ntfy or a chat
	ByChat     Means = "chat"     // words in a paired chat, delivered by its service
	ByRelay    Means = "relay"    // the word of a machine that has joined
	ByBridge   Means = "bridge"   // a line of a bridged file
	ByConfig   Means = "config"   // a section of config.toml
	BySystem   Means = "unknown"  // a system that does not report where a process runs
)

// ByGuest identifies a guest, who is not the user: someone else's program, with a token that opens one door of a
// room.
const ByGuest Means = "guest"

// IsAct reports whether the person's own act identified the caller. Only then are the words the person's, which an
// agent may follow. Everything else that arrives in the user's name is data.
func (m Means) IsAct() bool { return m == ByPages || m == ByPhone || m == ByTerminal }

// Settles reports whether mail sent by this means in the user's name may settle a question to the user.
func (m Means) Settles() bool { return m != ByScript }
