package web

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"pennypost/internal/jsonx"
	"pennypost/internal/mail"
)

const (
	maxOptions = 12  // buttons on a card: more is a form to fill in, not a choice
	maxOption  = 500 // bytes of one
)

// option is an answer that a question offers.
type option struct {
	Answer string // what is sent
	Note   string // what the agent says of it
}

// options reads metadata.options: a list of texts, or of objects with a label and perhaps a description, as agents' own forms of questions have
// them. What is neither cannot be a button and is left out, and so is all that is no list: the person can always write.
func options(m mail.Metadata) []option {
	var members struct {
		Options []jsonx.Value `json:"options"`
	}
	if len(m) == 0 || jsonx.Unmarshal(m, &members) != nil {
		return nil
	}
	var out []option
	for _, raw := range members.Options {
		o, ok := readOption(raw)
		if ok && !slices.ContainsFunc(out, func(other option) bool { return other.Answer == o.Answer }) {
			out = append(out, o)
		}
		if len(out) == maxOptions {
			break
		}
	}
	return out
}

func readOption(raw jsonx.Value) (option, bool) {
	var o struct {
		Label       string `json:"label"`
		Description string `json:"description"`
	}
	if jsonx.Unmarshal(raw, &o.Label) != nil && jsonx.Unmarshal(raw, &o) != nil {
		return option{}, false
	}
	visible := strings.ContainsFunc(o.Label, func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) })
	if !visible || len(o.Label) > maxOption || strings.ContainsRune(o.Label, 0) {
		return option{}, false
	}
	if len(o.Description) > maxOption {
		o.Description = ""
	}
	return option{Answer: o.Label, Note: o.Description}, true
}

// reply is what the user answered to a message, and what became of it.
type reply struct {
	*view
	mail.Item
}

// Fates says for each recipient what became of the answer.
func (r reply) Fates() []fate { return fatesOf(r.Now, r.Deliveries) }

// fate is what became of a message with one recipient, in words.
type fate struct {
	State mail.DeliveryState
	Who   string
	Text  string
}

func fatesOf(now time.Time, ds []mail.Delivery) []fate {
	out := make([]fate, 0, len(ds))
	for _, d := range ds {
		out = append(out, fate{State: d.State, Who: recipient(d), Text: became(now, d)})
	}
	return out
}

// recipient names whom a delivery is for.
func recipient(d mail.Delivery) string {
	if d.Agent != "" {
		return string(d.Agent)
	}
	return who(d.Address)
}

// became says what became of a delivery, or why nothing has.
func became(now time.Time, d mail.Delivery) string {
	name, through, at := recipient(d), "", ""
	if d.Door != "" {
		through = " through its " + d.Door
	}
	if d.At != 0 {
		at = " " + moment(now, d.At)
	}
	switch d.State {
	case mail.Notified:
		return "told to look" + through + at + "; not seen yet"
	case mail.Presented:
		return "delivered to " + name + through + at
	case mail.Read:
		return "read" + at
	case mail.Archived:
		return "read and archived" + at
	case mail.Held:
		return "held: nobody is there to take it now; whoever comes gets it"
	case mail.Expired:
		return "expired before " + name + " looked"
	case mail.Dead:
		return "not delivered: " + name + "'s session has ended, and it did not read this"
	}
	return "queued" + waiting(d)
}

// waiting says for what a queued message waits.
func waiting(d mail.Delivery) string {
	switch d.Wake {
	case mail.WakeWaiting:
		return ": it is waiting for mail and gets it now"
	case mail.WakeTurnEnd:
		return ": it is working, and looks when its turn ends"
	case mail.WakeNoDoor:
		return ": no door to wake it is known, so it waits until " + recipient(d) + " looks"
	case mail.WakeNone, "":
		return ""
	}
	return ": being woken through its " + d.Wake
}
