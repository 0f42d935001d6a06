package mail

// Means is how it is known who a caller is. The gate finds it out from the connection; no argument carries it.
type Means string

// The means by which the person is known, and those by which a program of the person is.
const (
	ByPages    Means = "pages"    // a browser session that a one-time link began
	ByPhone    Means = "phone"    // a paired phone
	ByTerminal Means = "terminal" // a terminal that a person sits at, with no agent above the process
	ByOperator Means = "operator" // the operator's token
	ByScript   Means = "script"   // a credential that the person made for scripts: it sends and marks
	ByButton   Means = "button"   // an option of a notification, over ntfy or a chat
	ByChat     Means = "chat"     // words in a paired chat, which its service brought
	ByRelay    Means = "relay"    // the word of a machine that has joined
	ByBridge   Means = "bridge"   // a line of a bridged file
	ByConfig   Means = "config"   // a section of config.toml
	BySystem   Means = "unknown"  // a system that does not tell where a process runs
)

// ByGuest is how a guest is known, who is no user: a program of somebody else, with a token that opens one door of a
// room.
const ByGuest Means = "guest"

// IsAct reports whether a person's own act is what the caller is known by. Only then are the words the person's: an
// agent may follow them. Everything else that comes in the user's name is data.
func (m Means) IsAct() bool { return m == ByPages || m == ByPhone || m == ByTerminal }

// Settles reports whether what comes by this means in the user's name may settle what the user was asked.
func (m Means) Settles() bool { return m != ByScript }
