package mail

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Priority is Urgent or Normal.
type Priority string

// The two priorities. Normal is the zero value.
const (
	Normal Priority = ""
	Urgent Priority = "urgent"
)

// Audiences of a message. With "", a message to "all" or to a tag is for every agent that looks before it expires,
// and a message to a role is for one holder at a time, in rotation.
const (
	AudiencePresent = "present" // for "all" and a tag: the agents that were live when it was sent
	AudienceTeam    = "team"    // the same without the orchestrator
	AudienceHolders = "holders" // for a role: all live holders, until one of them has read it
)

func audiences() []string { return []string{AudiencePresent, AudienceTeam, AudienceHolders} }

// Limits on one message. A message over a limit is refused, never truncated.
const (
	MaxBody     = 64 << 10 // bytes; a room may be configured with another limit
	MaxSubject  = 1 << 10  // bytes
	MaxMetadata = 16 << 10 // bytes of JSON
	MaxAccepted = 1 << 20  // bytes of a body, and of metadata, already accepted by another system
	// MaxKept is MaxAccepted plus room for the member names under which dialects store a line of that length in
	// metadata.
	MaxKept       = MaxAccepted + 4<<10
	MaxRecipients = 100  // addresses in To
	MaxDocs       = 50   // documents
	MaxPath       = 4096 // bytes of a document's path
)

// Doc is a reference to a document that belongs to a message.
type Doc struct {
	Path     string `json:"path"`
	Revision string `json:"revision,omitempty"`
}

// Metadata is a JSON object, stored byte for byte. Nil means none.
type Metadata []byte

// MarshalJSON returns the object unchanged.
func (m Metadata) MarshalJSON() ([]byte, error) {
	if m == nil {
		return []byte("null"), nil
	}
	return m, nil
}

// UnmarshalJSON stores b, which must be an object or null.
func (m *Metadata) UnmarshalJSON(b []byte) error {
	if b = bytes.TrimSpace(b); string(b) == "null" {
		*m = nil
		return nil
	}
	if len(b) == 0 || b[0] != '{' {
		return Errorf(Invalid, "metadata must be a JSON object")
	}
	*m = bytes.Clone(b)
	return nil
}

// tooLarge returns the first number in m that overflows float64, "" if there is none. Programs that read it would
// fail, or take it for infinity and write null.
func (m Metadata) tooLarge() string {
	if len(m) == 0 {
		return ""
	}
	d := json.NewDecoder(bytes.NewReader(m))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			return ""
		}
		if n, ok := token.(json.Number); ok {
			if _, err := n.Float64(); err != nil {
				return n.String()
			}
		}
	}
}

// Text returns the string member called key, or "".
func (m Metadata) Text(key string) string {
	if len(m) == 0 {
		return ""
	}
	var members map[string]json.RawMessage
	var s string
	if json.Unmarshal(m, &members) != nil || json.Unmarshal(members[key], &s) != nil {
		return ""
	}
	return s
}

// ViaGitHub is Message.Via of mail from GitHub, and GitHub is its sender. No new agent can take that name.
const (
	ViaGitHub      = "github"
	GitHub    Name = "github"
)

// Unproven describes the sender of a message that came over a bridge: only the foreign file says who it is. For
// mail from GitHub, it is proven only that GitHub sent it.
func Unproven(via string) string {
	if via == ViaGitHub {
		return "GitHub, from outside"
	}
	return "file, unproven"
}

// Outside describes the sender of a guest's message.
const Outside = "from outside"

// Doubt says why a reader should doubt the sender of m: the text of Unproven, Outside, or "" if there is no reason.
func (m *Message) Doubt() string {
	switch {
	case m.Via != "":
		return Unproven(m.Via)
	case m.By == ByGuest:
		return Outside
	}
	return ""
}

// Message is a sent message. It never changes once it is in the journal.
type Message struct {
	ID         ID        `json:"id"`
	Type       Type      `json:"type"`
	From       Address   `json:"from"`
	To         []Address `json:"to"`
	Subject    string    `json:"subject,omitempty"`
	Body       string    `json:"body"` // Markdown
	Priority   Priority  `json:"priority,omitempty"`
	Thread     ID        `json:"thread,omitempty"`   // the first message of the thread; empty if this is it
	ReplyTo    ID        `json:"reply_to,omitempty"` // the message that this one answers
	Issue      string    `json:"issue_id,omitempty"`
	Docs       []Doc     `json:"docs,omitempty"`
	Metadata   Metadata  `json:"metadata,omitempty"`
	TTLSeconds int64     `json:"ttl_seconds,omitzero"` // 0: the default of each address
	Audience   string    `json:"audience,omitempty"`   // "", or one of the constants
	Key        string    `json:"key,omitempty"`        // the sender's idempotency key
	// Via names the bridge over which the message came. Its sender is the one that the foreign file names,
	// unproven.
	Via string `json:"via,omitempty"`
	// By says how the user who sent it was identified, or is ByGuest; empty for all others, and in journals of
	// earlier versions.
	By Means `json:"by,omitempty"`
	// Suggests says that it answers a question that its sender was not asked, so it settles nothing.
	Suggests bool `json:"suggests,omitzero"`
	// Sent is when the message was sent. The journal has it for imported messages only; for others the room fills
	// in the time of the event.
	Sent Time `json:"sent,omitzero"`
	// Same is a fingerprint of the content, for detecting duplicates. Checked is the sequence number up to which
	// the sending post office knew of no duplicate; if one arrived after that, this message does not count. Both
	// are for the journal only.
	Same    string `json:"same,omitempty"`
	Checked Seq    `json:"checked,omitzero"`
}

// IsUsers reports whether m is the person's own words, rather than a program's or a file's in the user's name.
func (m *Message) IsUsers() bool { return m.From == ToUser && m.Via == "" && m.By.IsAct() }

// DocNames names the first document and counts the others, as a list shows a message without text.
func (m *Message) DocNames() string {
	switch n := len(m.Docs); n {
	case 0:
		return ""
	case 1:
		return m.Docs[0].Path
	default:
		return m.Docs[0].Path + " · +" + strconv.Itoa(n-1) + " more"
	}
}

// ThreadRoot returns the id of the first message in m's thread.
func (m *Message) ThreadRoot() ID {
	if m.Thread != "" {
		return m.Thread
	}
	return m.ID
}

// Recipients are addresses as typed. In JSON a single address may be a plain string.
type Recipients []string

// UnmarshalJSON reads a string or a list of strings.
func (r *Recipients) UnmarshalJSON(b []byte) error {
	if b = bytes.TrimSpace(b); len(b) > 0 && b[0] == '"' {
		*r = make(Recipients, 1)
		if s := bytes.Trim(b, `"`); len(s) == len(b)-2 && !bytes.ContainsAny(s, `"\`) && utf8.Valid(s) {
			(*r)[0] = string(s) // the usual case
			return nil
		}
		return json.Unmarshal(b, &(*r)[0])
	}
	return json.Unmarshal(b, (*[]string)(r))
}

// MadeKey is the prefix of idempotency keys that a client generates so that it can retry after a broken connection.
// They do not express what the sender considers the same message.
const MadeKey = "auto-"

// Draft is a message to be sent. It has no sender, id and time: the room knows the first and assigns the others.
type Draft struct {
	To         Recipients `json:"to"`
	Type       string     `json:"type,omitempty"` // "" means custom
	Subject    string     `json:"subject,omitempty"`
	Body       string     `json:"body"`
	ReplyTo    ID         `json:"reply_to,omitempty"`
	Priority   string     `json:"priority,omitempty"` // "", "normal" or "urgent"
	Issue      string     `json:"issue_id,omitempty"`
	Docs       []Doc      `json:"docs,omitempty"`
	Metadata   Metadata   `json:"metadata,omitempty"`
	TTLSeconds int64      `json:"ttl_seconds,omitzero"` // 0: the protocol's default, else that of each address
	Audience   string     `json:"audience,omitempty"`
	// Key makes sending idempotent: a second draft with the same sender and key returns the first message.
	Key string `json:"key,omitempty"`
	// Again sends the message even though the same text was sent to the same agent moments ago. Otherwise
	// the answer is that message, as a duplicate.
	Again bool `json:"again,omitzero"`
	// IDForm is the form of the message's id; dialects have forms of their own.
	IDForm IDForm `json:"id_form,omitempty"`
	Later         // when to send it, if not now
}

// Check validates d by itself; the room checks addresses, replies and rights. maxBody is in bytes.
func (d *Draft) Check(maxBody int) error {
	if err := d.check(maxBody, MaxMetadata); err != nil {
		return err
	}
	if n := d.Metadata.tooLarge(); n != "" {
		return Errorf(Invalid, "metadata holds the number %.40s, which is too large for many programs. Nothing was "+
			"sent; write it as a string", n)
	}
	return nil
}

// CheckAccepted is Check for a message that another system has accepted. No one can correct it, so it may be
// longer, and odd numbers in its metadata are kept.
func (d *Draft) CheckAccepted(maxBody int) error {
	return d.check(max(maxBody, MaxAccepted), MaxKept)
}

func (d *Draft) check(maxBody, maxMetadata int) error {
	if len(d.To) == 0 {
		return Errorf(Invalid, "the message has no recipient: give at least one address in to")
	}
	if len(d.To) > MaxRecipients {
		return Errorf(TooLarge, "the message has %d recipients; at most %d are allowed", len(d.To), MaxRecipients)
	}
	t, err := ParseType(d.Type)
	if err != nil {
		return err
	}
	if err := d.checkText(maxBody); err != nil {
		return err
	}
	if err := checkDocs(d.Docs); err != nil {
		return err
	}
	if d.Priority != "" && d.Priority != "normal" && d.Priority != "urgent" {
		return Errorf(Invalid, "%q is not a priority; use normal or urgent", d.Priority)
	}
	if d.TTLSeconds < 0 || d.TTLSeconds > maxTTLSeconds {
		return Errorf(Invalid, "a time to live of %d seconds is out of range; omit it for the default",
			d.TTLSeconds)
	}
	if !slices.Contains([]IDForm{"", IDUUID, IDHex12}, d.IDForm) {
		return Errorf(Invalid, "%q is not a form of ids; omit it", d.IDForm)
	}
	if d.Audience != "" && !slices.Contains(audiences(), d.Audience) {
		return Errorf(Invalid, "%q is not an audience; omit it, or use one of %s", d.Audience,
			strings.Join(audiences(), ", "))
	}
	return d.checkMetadata(t, maxMetadata)
}

// maxTTLSeconds, a century, keeps expiry far from overflow.
const maxTTLSeconds = 100 * 366 * 24 * 3600

func (d *Draft) checkText(maxBody int) error {
	if strings.TrimSpace(d.Body) == "" && len(d.Docs) == 0 {
		return Errorf(Invalid, "the body is empty: write a text")
	}
	if len(d.Body) > maxBody {
		return Errorf(TooLarge, "the body has %d bytes; the limit is %d. Nothing was sent. Send it in parts, or "+
			"put the text in a file and send its path", len(d.Body), maxBody)
	}
	if len(d.Subject) > MaxSubject {
		return Errorf(TooLarge, "the subject has %d bytes; the limit is %d. Nothing was sent",
			len(d.Subject), MaxSubject)
	}
	for _, f := range []struct{ name, text string }{{"body", d.Body}, {"subject", d.Subject}, {"issue_id", d.Issue},
		{"idempotency key", d.Key}} {
		if !utf8.ValidString(f.text) {
			return Errorf(Invalid, "the %s is not valid UTF-8", f.name)
		}
		if strings.ContainsRune(f.text, 0) {
			return Errorf(Invalid, "the %s contains a NUL byte", f.name)
		}
	}
	if len(d.Issue) > MaxName || len(d.Key) > 2*MaxName {
		return Errorf(TooLarge, "an issue id has at most %d bytes, an idempotency key at most %d", MaxName,
			2*MaxName)
	}
	if strings.ContainsAny(d.Subject, "\r\n") {
		return Errorf(Invalid, "the subject must be one line")
	}
	return nil
}

func checkDocs(docs []Doc) error {
	if len(docs) > MaxDocs {
		return Errorf(TooLarge, "the message names %d documents; the limit is %d", len(docs), MaxDocs)
	}
	for _, doc := range docs {
		if doc.Path == "" || len(doc.Path) > MaxPath || !utf8.ValidString(doc.Path) ||
			strings.ContainsRune(doc.Path, 0) {
			return Errorf(Invalid, "%q is not the path of a document", doc.Path)
		}
	}
	return nil
}

func (d *Draft) checkMetadata(t Type, limit int) error {
	if len(d.Metadata) > limit {
		return Errorf(TooLarge,
			"the metadata has %d bytes; the limit is %d. Nothing was sent. Put long parts in a file and send its "+
				"path", len(d.Metadata), limit)
	}
	if len(d.Metadata) > 0 && (d.Metadata[0] != '{' || !json.Valid(d.Metadata)) {
		return Errorf(Invalid, "metadata must be a JSON object")
	}
	if t.Rule().Verdict && !slices.Contains(Verdicts(), d.Metadata.Text("verdict")) {
		return Errorf(Invalid, "a %s needs metadata.verdict, one of %s", t, strings.Join(Verdicts(), ", "))
	}
	return nil
}
