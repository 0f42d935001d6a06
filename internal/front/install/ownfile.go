package install

import (
	"bytes"
	"regexp"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// ownFile is the editor of a file that is ours altogether, which its first words show.
type ownFile struct{ text string }

// ownMark begins every such file, behind the sign of a comment.
const ownMark = "written by pennypost install; pennypost uninstall removes it. Program: "

// ownProgram finds ownMark and the program that what is in the file starts.
var ownProgram = regexp.MustCompile(`^(?://|#) ` + regexp.QuoteMeta(ownMark) + `(".*")\r?\n`)

func (f *ownFile) put(text []byte) ([]byte, error) {
	if !f.blank(text) && !ownProgram.Match(text) {
		return nil, mail.Errorf(mail.Conflict,
			"there is a file of this name that is not Pennypost's. Rename or remove it, then install again")
	}
	return []byte(f.text), nil
}

func (f *ownFile) strip(text, _ []byte) ([]byte, []piece, error) {
	if !ownProgram.Match(text) {
		return text, nil, nil
	}
	return nil, []piece{{raw: string(text)}}, nil
}

func (f *ownFile) replay(_ []byte, taken []piece) ([]byte, error) { return []byte(taken[0].raw), nil }

func (f *ownFile) entries(text []byte) ([]Entry, error) {
	at := ownProgram.FindSubmatch(text)
	if at == nil {
		return nil, nil
	}
	var binary string
	if err := jsonx.Unmarshal(at[1], &binary); err != nil {
		return nil, mail.Errorf(mail.Invalid, "line 1: the program that this starts cannot be read: %w", err)
	}
	return []Entry{{"extension", binary, 1}}, nil
}

func (f *ownFile) blank(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }
