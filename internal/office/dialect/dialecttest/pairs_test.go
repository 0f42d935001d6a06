package dialecttest_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pennypost/internal/mail"
	"pennypost/internal/office/dialect/agenties"
	"pennypost/internal/office/dialect/claudeteams"
	"pennypost/internal/office/dialect/dialecttest"
	"pennypost/internal/office/dialect/haak"
	"pennypost/internal/office/dialect/openalice"
	"pennypost/internal/office/dialect/superportia"
)

// object is a message as a dialect shows it: its JSON members.
type object = map[string]any

// party is a dialect, or the native tools, as used by someone who knows nothing else.
type party struct {
	name  string
	sends []sending
	reads []reading
	// mark marks a message as read by the reader, and isRead reports whether the dialect shows it as read. Nil: the
	// dialect does not show it.
	mark   func(o *office, id mail.ID)
	isRead func(o *office, id mail.ID) bool
	// carries reports whether this dialect shows a message. Nil: it shows all mail.
	carries func(m *mail.Message) bool
}

// sending is a way to send with a dialect.
type sending struct {
	name string
	// only and never are readers; "" is none.
	only, never mail.Name
	// send sends the reader everything that this way can express. It returns the message that the list in
	// docs/dialects/README.md promises, without its time, and its time to live; 0: no expiry. If the sender does not
	// learn or choose the id, the message has none.
	send func(o *office) (m mail.Message, life time.Duration)
}

// reading is a way to read with a dialect.
type reading struct {
	name string
	// show returns a message as shown, or nil if it is not.
	show func(o *office, id mail.ID) object
	// promise returns a message as the table promises it.
	promise func(o *office, m *mail.Message) object
}

// office is one room that keeps the files of all dialects.
type office struct {
	*testing.T
	beds   map[string]*dialecttest.Fixture
	reader mail.Name // the recipient
	parent mail.ID   // a message that the reader sent to the writer
}

// The participants. The writer is also a workspace; mate and reader form a Claude Code team.
const (
	writer mail.Name = "writer"
	reader mail.Name = "reader"
	mate   mail.Name = "mate"
	team             = "session-0a1b2c3d"
)

const (
	day     = 24 * time.Hour
	century = 100 * 365 * day
)

func newOffice(t *testing.T, to mail.Name) *office {
	t.Helper()
	o := &office{T: t, beds: make(map[string]*dialecttest.Fixture), reader: to}
	all := dialecttest.NewAll(t, agenties.Dialect(), haak.Dialect(), superportia.Dialect(), openalice.Dialect(),
		claudeteams.Dialect())
	user := all[0].As(mail.User)
	for _, b := range all {
		o.beds[b.Dialect.Name] = b
		if b.Dialect.Name == "claudeteams" {
			b.Dir = filepath.Join(b.Dir, team)
			o.write(b, "config.json", `{"name":"`+team+`","leadAgentId":"boss@`+team+
				`","members":[{"name":"boss","agentId":"boss@`+team+
				`"},{"name":"reader"},{"name":"mate","color":"blue"}]}`)
		}
		if b.Dialect.Files != nil {
			b.Bridge(mail.BridgeBoth)
		}
	}
	for _, name := range []mail.Name{writer, reader, mate} {
		all[0].Register(name)
	}
	if _, err := user.AddWorkspace(t.Context(), mail.Workspace{ID: writer, Label: "Writer's desk",
		Dir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	o.advance(time.Minute)
	o.parent = all[0].Send(to, mail.Draft{To: mail.Recipients{string(writer)}, Body: "What now?"})
	o.advance(1500 * time.Millisecond)
	return o
}

func (o *office) advance(d time.Duration) { o.beds["haak"].Advance(d) }

// at returns the present time, as JavaScript and most others print it.
func (o *office) at() string { return mail.TimeOf(o.beds["haak"].Now()).String() }

// to returns the reader's address.
func (o *office) to() mail.Address {
	if o.reader == mail.User {
		return mail.ToUser
	}
	return mail.AgentAddress(o.reader)
}

// settle syncs the room and all files.
func (o *office) settle() {
	o.Helper()
	for range 2 { // messages from one file go into others
		for _, b := range o.beds {
			if b.Dialect.Files == nil {
				continue
			}
			if st := b.Sync(); st.Failing != "" || st.Rejected != 0 {
				o.Errorf("the bridge %+v", st)
			}
		}
	}
}

// item returns a message as its reader has it.
func (o *office) item(id mail.ID) mail.Item {
	o.Helper()
	p, err := o.beds["haak"].As(o.reader).Inbox(o.Context(), mail.InboxQuery{All: true, Limit: mail.MaxLimit})
	if err != nil {
		o.Fatal(err)
	}
	i := slices.IndexFunc(p.Messages, func(it mail.Item) bool { return it.ID == id })
	if i < 0 {
		o.Fatalf("%s is not in the mailbox of %s", id, o.reader)
	}
	return p.Messages[i]
}

// write replaces a file of a foreign system, which creates only its own directories.
func (o *office) write(b *dialecttest.Fixture, file, text string) {
	o.Helper()
	path := filepath.Join(b.Dir, filepath.FromSlash(file))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		o.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		o.Fatal(err)
	}
}

// append adds a line to a file as the foreign system does.
func (o *office) append(dialect, file string, line object) {
	o.Helper()
	b := o.beds[dialect]
	o.write(b, file, o.text(b, file)+o.json(line)+"\n")
}

// text returns the content of a foreign system's file, or "" if there is none.
func (o *office) text(b *dialecttest.Fixture, file string) string {
	o.Helper()
	text, err := os.ReadFile(filepath.Join(b.Dir, filepath.FromSlash(file)))
	if err != nil && !os.IsNotExist(err) {
		o.Fatal(err)
	}
	return string(text)
}

func (o *office) json(v any) string {
	o.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		o.Fatal(err)
	}
	return string(text)
}

func decode[T any](o *office, text string) (v T) {
	o.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		o.Fatalf("%v in %s", err, text)
	}
	return v
}

// call calls a tool that must succeed.
func (o *office) call(dialect string, agent mail.Name, tool string, args object) object {
	o.Helper()
	out, err := o.beds[dialect].Call(agent, tool, o.json(args))
	if err != nil {
		o.Fatalf("%s %s %v: %v", dialect, tool, args, err)
	}
	return decode[object](o, out)
}

// verb runs a verb that must succeed.
func (o *office) verb(dialect string, words ...string) string {
	o.Helper()
	out, _, err := o.beds[dialect].Verb(words...)
	if err != nil {
		o.Fatalf("%s %q: %v", dialect, words, err)
	}
	return out
}

// find returns the object in a list whose member is the id, or nil.
func find(list []any, member string, id mail.ID) object {
	for _, v := range list {
		if m, ok := v.(object); ok && m[member] == string(id) {
			return m
		}
	}
	return nil
}

// line returns the line of a file whose member id is the id, or nil.
func (o *office) line(dialect, file string, id mail.ID) object {
	o.Helper()
	var list []any
	for _, l := range split(o.text(o.beds[dialect], file)) {
		list = append(list, decode[object](o, l))
	}
	return find(list, "id", id)
}

// TestPairs sends in each dialect, in each of its ways, everything that it can express, and reads it in each
// dialect, in each of its ways. Each message is shown exactly as the list in docs/dialects/README.md promises, to
// the last member. The room keeps all dialects' files meanwhile.
func TestPairs(t *testing.T) {
	t.Parallel()
	all := parties()
	for i := range all {
		for j := range all {
			t.Run(all[i].name+" to "+all[j].name, func(t *testing.T) {
				for _, s := range all[i].sends {
					for _, to := range []mail.Name{reader, mail.User} {
						if s.never != to && (s.only == "" || s.only == to) {
							t.Run(s.name+" to "+string(to), func(t *testing.T) {
								t.Parallel()
								pair(newOffice(t, to), &all[i], s, &all[j])
							})
						}
					}
				}
			})
		}
	}
}

// pair sends in a and reads in b.
func pair(o *office, a *party, s sending, b *party) {
	want, life := s.send(o)
	o.settle()
	all := o.beds["haak"].History()
	if len(all) != 2 {
		o.Fatalf("the room has %d messages, want the one that was answered and the one that was sent: %+v", len(all),
			all)
	}
	it := o.item(all[1].ID)
	o.sent(&want, life, &it)
	carried := b.carries == nil || b.carries(&it.Message)
	for _, r := range b.reads {
		got := r.show(o, it.ID)
		if !carried {
			if got != nil {
				o.Errorf("%s %s shows %v, which it should not carry", b.name, r.name, got)
			}
			continue
		}
		if diff := cmp.Diff(decode[object](o, o.json(r.promise(o, &it.Message))), got); diff != "" {
			o.Errorf("%s %s (-want +got):\n%s", b.name, r.name, diff)
		}
	}
	if carried && b.mark != nil {
		o.marked(a, b, it.ID)
	}
	o.settle()
	if n := len(o.beds["haak"].History()); n != 2 {
		o.Errorf("in the end the room has %d messages: something came back as another one", n)
	}
}

// sent checks the message in the room.
func (o *office) sent(want *mail.Message, life time.Duration, it *mail.Item) {
	o.Helper()
	if want.ID == "" {
		want.ID = it.ID
	}
	want.Sent = mail.TimeOf(o.beds["haak"].Now())
	if diff := cmp.Diff(*want, it.Message, cmpopts.IgnoreFields(mail.Message{}, "Metadata")); diff != "" {
		o.Errorf("in the room (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(metadata(o, want), metadata(o, &it.Message)); diff != "" {
		o.Errorf("metadata in the room (-want +got):\n%s", diff)
	}
	expires := mail.Time(0)
	if life != 0 {
		expires = want.Sent.Add(life)
	}
	if it.Expires != expires || it.Read {
		o.Errorf("in the room it expires %s, want %s; read: %v", it.Expires, expires, it.Read)
	}
}

func metadata(o *office, m *mail.Message) object {
	if m.Metadata == nil {
		return nil
	}
	return decode[object](o, string(m.Metadata))
}

// marked marks a message in b and checks it in a.
func (o *office) marked(a, b *party, id mail.ID) {
	o.Helper()
	if a.isRead != nil && a.isRead(o, id) {
		o.Errorf("in %s it is read before anybody marked it", a.name)
	}
	o.advance(time.Second)
	b.mark(o, id)
	o.settle()
	if !o.item(id).Read {
		o.Errorf("it was marked as read in %s, and the room does not say so", b.name)
	}
	if a.isRead != nil && !a.isRead(o, id) {
		o.Errorf("it was marked as read in %s, and %s does not say so", b.name, a.name)
	}
}
