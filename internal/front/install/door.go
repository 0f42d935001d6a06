package install

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"pennypost/internal/mail"
)

// doorPrompt is the prompt that resumes the orchestrator's session. The mail itself arrives by hooks and tools.
const doorPrompt = "Notice from the post office, not from the user: mail waits for you. Read it with read_messages, " +
	"deal with each message, and mark it."

// doorFile is the editor of the post office's own config.toml, for the door that resumes the orchestrator's session
// when its program has ended. The door is ours if it runs the client's program with our arguments, whatever the
// prompt.
type doorFile struct {
	o    *Options
	argv []string // the client's command; its program is the first word
}

// door returns the file with the orchestrator's door, if that is asked for or already there.
func (c *Client) door(o *Options) []file {
	if c.resume == nil || o.Config == "" {
		return nil
	}
	f := &doorFile{o, slices.Concat([]string{cmp.Or(o.Program, c.Program)}, c.resume)}
	if text, _ := read(o.Config); !o.Orchestrator && !f.ours(text) {
		return nil
	}
	return []file{{o.Config, "door of the orchestrator", f}}
}

// table is the path of the entry: for all rooms, or for the project's.
func (f *doorFile) table() []string {
	if f.o.Scope == Project {
		return []string{"rooms", string(f.o.Room), "wake", string(mail.Orchestrator)}
	}
	return []string{"room", "wake", string(mail.Orchestrator)}
}

func (f *doorFile) ours(text []byte) bool {
	m, _ := decodeTOML(text)
	words, _ := dig(m, append(f.table(), "exec")...).([]any)
	var argv []string
	for _, w := range words {
		word, _ := w.(string)
		argv = append(argv, word)
	}
	if len(argv) == 0 || programName(argv[0]) != programName(f.argv[0]) {
		return false
	}
	return slices.EqualFunc(argv[1:], f.argv[1:], func(is, want string) bool {
		return is == want || want == doorPrompt
	})
}

func programName(path string) string {
	base := filepath.Base(path)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

func (f *doorFile) put(text []byte) ([]byte, error) {
	m, err := decodeTOML(text)
	if err != nil || !f.o.Orchestrator || f.ours(text) {
		return text, err
	}
	table := f.table()
	for _, name := range []string{"role:" + string(mail.Orchestrator), string(mail.Orchestrator)} {
		table[len(table)-1] = name
		if dig(m, table...) != nil {
			return nil, mail.Errorf(mail.Conflict, "[%s] already exists, and configures another way to wake the "+
				"orchestrator. Nothing was changed. Remove that section first, or omit "+
				"--orchestrator", tomlKey(table))
		}
	}
	return (&tomlFile{}).add(text, fmt.Sprintf("[%s]\nexec = %s\nwhen = \"gone\"\ntimeout = \"1h\"\n",
		tomlKey(f.table()), tomlStrings(f.argv)))
}

func tomlKey(path []string) string {
	words := make([]string, len(path))
	for i, w := range path {
		if words[i] = w; strings.ContainsAny(w, ".:") {
			words[i] = tomlString(w)
		}
	}
	return strings.Join(words, ".")
}

func (f *doorFile) strip(text, _ []byte) (rest []byte, taken []piece, err error) {
	if _, err := decodeTOML(text); err != nil || !f.ours(text) {
		return text, nil, err
	}
	if rest, taken, err = cutBelow(text, f.table()...); err == nil && len(taken) == 0 {
		err = mail.Errorf(mail.Invalid,
			"%s is inside another value, where it cannot be removed safely. Nothing was changed; remove it by "+
				"hand", tomlKey(f.table()))
	}
	return rest, taken, err
}

func (f *doorFile) replay(base []byte, taken []piece) ([]byte, error) {
	return (&tomlFile{}).replay(base, taken)
}

func (f *doorFile) entries(text []byte) ([]Entry, error) {
	if _, err := decodeTOML(text); err != nil || !f.ours(text) {
		return nil, err
	}
	return []Entry{{"door of the orchestrator", f.o.Binary, lineOf(text, f.table()...)}}, nil
}

func (f *doorFile) blank(text []byte) bool { return (&tomlFile{}).blank(text) }

// doorNotes are the notes for the person about the door.
func doorNotes(o *Options) []string {
	who := "You choose the orchestrator: pennypost agents update NAME --role orchestrator"
	if o.As == mail.Orchestrator {
		who = "An agent that connects from now on is the orchestrator, one session at a time."
	}
	return []string{who,
		"When its session has ended and mail should wake it, the post office resumes the session, in its " +
			"directory, for one turn. Anything that the client's settings do not allow is refused then, because " +
			"there is nobody to ask.",
		"A running post office uses it after a restart: pennypost stop"}
}
