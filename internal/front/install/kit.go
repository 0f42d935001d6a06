package install

import (
	"bytes"
	"embed"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// kits are the files that Kits put into projects. Words between @ signs are filled in.
//
//go:embed kit
var kits embed.FS

// Kits returns the files for a project whose agents were used to a foreign system, so that its scripts, hooks and
// instructions still work. Each kit has the name of its dialect, and the project scope only.
func Kits() []Client { return []Client{haakKit()} }

// haakKit is for the agents of a HAAK project (seeds/001_20309a8ed524c088.txt): two scripts, the hook that polls at
// session start, and the instruction that names the two other points at which to poll.
func haakKit() Client {
	return Client{
		Name: "haak", Title: "HAAK", Scopes: []Scope{Project},
		files: func(o *Options) []file {
			at := func(name string) string { return filepath.Join(o.Root, filepath.FromSlash(name)) }
			return []file{
				{at("scripts/agent_mailbox.py"), "script", kitScript(o, "haak.py", "mailbox", raw(o.Binary))},
				{at("scripts/agent_roster.py"), "script", kitScript(o, "haak.py", "roster", raw(o.Binary))},
				{at(".claude/scripts/check-mailbox.sh"), "script",
					kitScript(o, "haak.sh", "", shellWord("linux", o.Binary))},
				{at(".claude/settings.json"), "hook", &jsonFile{o: o, strict: true, hooks: kitHooks()}},
				{at("CLAUDE.md"), "instructions", &paragraph{sealedText{seal(kitText("haak.md"))}}},
			}
		},
		notes: func(*Options) []string {
			return []string{"Running sessions use it after a restart.",
				"The scripts start the pennypost on the PATH, or else this one, by its path on this machine."}
		},
	}
}

// The command lines of the hooks. Their last words distinguish them from a person's own hook of the same script.
const (
	kitStart = `sh "$CLAUDE_PROJECT_DIR/.claude/scripts/check-mailbox.sh" --hook`
	kitEnd   = `sh "$CLAUDE_PROJECT_DIR/.claude/scripts/check-mailbox.sh" --end`
)

func kitHooks() *jsonHooks {
	hook := func(event, line string) jsonHook {
		return jsonHook{event, line, raw(hookGroup{[]hookHandler{{Type: "command", Command: line,
			Timeout: hookTimeout}}})}
	}
	return &jsonHooks{
		groups: true,
		owns:   func(line string) (string, bool) { return "check-mailbox.sh", line == kitStart || line == kitEnd },
		events: []jsonHook{hook("SessionStart", kitStart), hook("SessionEnd", kitEnd)},
	}
}

func kitText(name string) string {
	text, err := kits.ReadFile("kit/" + name)
	if err != nil {
		panic("install: " + err.Error()) // cannot happen: they are compiled in
	}
	return string(text)
}

func kitScript(o *Options, name, verb, program string) *sealedFile {
	text := strings.NewReplacer("@VERB@", verb, "@PROGRAM@", program).Replace(kitText(name))
	return &sealedFile{sealedText{seal(text)}, o.Replace}
}

// sealMark is part of our text, with a checksum of all of it. The checksum shows whether a person has changed the
// text since: then it is theirs.
var sealMark = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`pennypost [a-z]+ install wrote this \(seal ([0-9a-f]{8})\)`)
})

// seal fills in the checksum of a text that has the mark.
func seal(text string) string {
	at := sealMark().FindStringSubmatchIndex(text)
	return text[:at[2]] + checksum([]byte(text), at) + text[at[3]:]
}

// checksum returns the checksum of a text whose mark has a checksum of zeros. It ignores line ends, which Git may
// have changed.
func checksum(text []byte, at []int) string {
	text = bytes.Join([][]byte{text[:at[2]], []byte("00000000"), text[at[3]:]}, nil)
	sum := crc32.ChecksumIEEE(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))
	return fmt.Sprintf("%08x", sum)
}

// sealed reports whether a text has our mark, and whether it is unchanged.
func sealed(text []byte) (ours, intact bool) {
	at := sealMark().FindSubmatchIndex(text)
	return at != nil, at != nil && checksum(text, at) == string(text[at[2]:at[3]])
}

// sealedText is the common part of the editors of such texts.
type sealedText struct{ text string }

func (sealedText) entries(text []byte) ([]Entry, error) {
	if ours, _ := sealed(text); !ours {
		return nil, nil
	}
	return []Entry{{What: "sealed text"}}, nil
}

func (sealedText) blank(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }

// sealedFile is the editor of a file that is wholly ours until someone changes it.
type sealedFile struct {
	sealedText
	replace bool // replace another's file too
}

func (f *sealedFile) put(text []byte) ([]byte, error) {
	if ours, intact := sealed(text); ours && !intact || f.spares(text) {
		return text, nil
	}
	return []byte(f.text), nil
}

// spares reports whether a file belongs to someone else, and so stays.
func (f *sealedFile) spares(text []byte) bool {
	ours, _ := sealed(text)
	return !ours && !f.blank(text) && !f.replace
}

func (f *sealedFile) strip(text, _ []byte) ([]byte, []piece, error) {
	if _, intact := sealed(text); !intact {
		return text, nil, nil
	}
	return nil, []piece{{raw: string(text)}}, nil
}

func (f *sealedFile) replay(_ []byte, taken []piece) ([]byte, error) {
	return []byte(taken[0].raw), nil
}

func (f *sealedFile) edited(text []byte) bool {
	ours, intact := sealed(text)
	return ours && !intact
}

// paragraph is the editor of a Markdown file in which one paragraph is ours, until someone changes it. The paragraph
// begins and ends with a comment.
type paragraph struct{ sealedText }

// paragraphEnd is the last line of a paragraph.
var paragraphEnd = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`<!-- end of what pennypost [a-z]+ install wrote -->\r?\n?`)
})

// find returns the position of our paragraph, text[from:to], and whether it is unchanged.
func (p *paragraph) find(text []byte) (from, to int, intact bool) {
	mark := sealMark().FindIndex(text)
	if mark == nil {
		return 0, 0, false
	}
	end := paragraphEnd().FindIndex(text[mark[0]:])
	if end == nil {
		return 0, 0, false
	}
	from, to = bytes.LastIndexByte(text[:mark[0]], '\n')+1, mark[0]+end[1]
	_, intact = sealed(text[from:to])
	return from, to, intact
}

func (p *paragraph) put(text []byte) ([]byte, error) {
	if from, to, intact := p.find(text); intact {
		return bytes.Join([][]byte{text[:from], []byte(p.text), text[to:]}, nil), nil
	}
	if p.edited(text) {
		return text, nil
	}
	return p.add(text, p.text), nil
}

// add appends the paragraph to the text, after an empty line.
func (p *paragraph) add(text []byte, own string) []byte {
	glue := ""
	switch {
	case len(text) == 0:
	case text[len(text)-1] == '\n':
		glue = "\n"
	default:
		glue = "\n\n"
	}
	return bytes.Join([][]byte{text, []byte(own)}, []byte(glue))
}

func (p *paragraph) strip(text, _ []byte) ([]byte, []piece, error) {
	from, to, intact := p.find(text)
	if !intact {
		return text, nil, nil
	}
	before := text[:from]
	if bytes.HasSuffix(before, []byte("\n\n")) {
		before = before[:len(before)-1]
	}
	return bytes.Join([][]byte{before, text[to:]}, nil), []piece{{raw: string(text[from:to])}}, nil
}

func (p *paragraph) replay(base []byte, taken []piece) ([]byte, error) {
	return p.add(base, taken[0].raw), nil
}

func (p *paragraph) edited(text []byte) bool {
	ours, _ := sealed(text)
	_, _, intact := p.find(text)
	return ours && !intact
}
