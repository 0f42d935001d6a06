package hook

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"pennypost/internal/base/wording"
	"pennypost/internal/fence"
	"pennypost/internal/mail"
)

// MaxText is the limit, in characters, of the text of a hook. Clients cut at 10,000, and every later step of the
// session pays for the text in tokens.
const MaxText = 4000

// maxOrder is the limit of the text of a cancel. Some clients get it twice, for the model and for the person, and both
// together must not exceed 20 KB (P12).
const maxOrder = MaxText / 2

// greeting begins every text. With it we recognise a text that a client hands back as a prompt.
const greeting = "Pennypost: "

// marking ends a text with mail in it. The command works as printed in the shell of any agent that reaches the post
// office from there: it names the mark and the agent. Codex's sandbox forbids its shell to connect, unless its user
// allowed that (0.169.0), and a hook is not told.
func marking(client string, agent mail.Name) string {
	if client == "codex" {
		return "\nReading marks nothing. Mark handled mail read with the tool mark_messages."
	}
	return "\nReading marks nothing. Mark handled mail read with mark_messages, or with: pennypost mark ID --read " +
		"--as " +
		fence.Text(wording.Shell(string(agent)))
}

// words are a text and the messages in it.
type words struct {
	text    string
	whole   []mail.ID
	pointed []mail.ID
}

// news returns the text for any moment other than the beginning of a tool; the zero value if there is none.
func news(e *Event, box *Mailbox, brief *mail.Briefing) words {
	who, named := fence.Text(string(brief.Agent)), introduction(e, box, brief)
	end := ""
	if !brief.Known {
		end = marking(e.Client, brief.Agent)
	}
	switch {
	case len(brief.Items) > 0:
		f := fence.New()
		n := messages(len(brief.Items) + brief.More)
		if brief.Agent == box.Agent && !brief.Known {
			named = "" // the head says it
		}
		head := fmt.Sprintf("%s%s%s for %s in room %s, %d unread in all. %s\n", greeting, named, n, who, box.Room,
			brief.Unread, f.Notice(brief.Items))
		if brief.Known {
			head = fmt.Sprintf("%s%s%s, %d unread in all. %s\n", greeting, named, n, brief.Unread,
				f.Again(brief.Items))
		}
		if n := len(brief.Counted); n > 0 {
			end = "\n" + counted(n) + end
		}
		w := sheet{f, head, end, MaxText}.letter(brief.Items, brief.More)
		w.pointed = append(w.pointed, brief.Counted...)
		return w
	case len(brief.Counted) > 0:
		return words{text: greeting + named + counted(len(brief.Counted)), pointed: brief.Counted}
	case brief.Continue:
		return words{text: fmt.Sprintf("%s%s for %s, already announced, unread: read_messages shows them.%s",
			greeting, messages(brief.Unread), who, end)}
	case e.Compacted && brief.Unread > 0:
		return words{text: fmt.Sprintf(
			"%s%s for %s, announced before compaction: read_messages shows them.", greeting,
			messages(brief.Unread), who)}
	case named != "":
		return words{text: greeting + strings.TrimSpace(named)}
	}
	return words{}
}

// introduction tells a new session its name: if it differs from the name it was started with, and always to Codex,
// whose MCP server does not know for which session it was started.
func introduction(e *Event, box *Mailbox, brief *mail.Briefing) string {
	who := fence.Text(string(brief.Agent))
	switch {
	case e.Moment != mail.SessionStart:
		return ""
	case brief.Agent == box.Agent && e.Client == "codex":
		return fmt.Sprintf("This session is the agent %s in room %s. ", who, box.Room)
	case brief.Agent == box.Agent:
		return ""
	}
	why := "because a live session is"
	if !strings.HasPrefix(string(brief.Agent), string(box.Agent)+"-") {
		why = "although it was started as"
	}
	return fmt.Sprintf("This session is the agent %s, %s %s. ", who, why, fence.Text(string(box.Agent)))
}

// counted reports messages of type status, for which no agent waits.
func counted(n int) string { return fmt.Sprintf("%d new of type status: read_messages shows them.", n) }

// order says that a cancel stops tools.
func order(brief *mail.Briefing) words {
	f, cancel := fence.New(), []mail.Item{*brief.Cancel}
	head := fmt.Sprintf("%sa cancel for %s. No tool runs until the turn ends or the message is marked read with "+
		"mark_messages. %s\n",
		greeting, fence.Text(string(brief.Agent)), f.Notice(cancel))
	return sheet{f, head, "", maxOrder}.letter(cancel, 0)
}

// maxInTheWay is the number of clashes that an agent is told.
const maxInTheWay = 5

// inTheWay says who holds what an agent wants to write, and what to do instead.
func inTheWay(clashes []mail.Clash) words {
	var b strings.Builder
	b.WriteString(greeting + "not written: another agent holds it.")
	for _, c := range clashes[:min(len(clashes), maxInTheWay)] {
		h := c.Held
		fmt.Fprintf(&b, "\n%s: held by %s since %s", fence.Text(h.Target.String()), fence.Text(string(h.Agent)),
			h.Clock())
		if h.Why != "" {
			fmt.Fprintf(&b, ", reason: %s", fence.Text(wording.ClipRunes(h.Why, maxWhy)))
		}
	}
	if more := len(clashes) - maxInTheWay; more > 0 {
		fmt.Fprintf(&b, "\nand %d more", more)
	}
	who := fence.Text(string(clashes[0].Held.Agent))
	fmt.Fprintf(&b, "\nDo other work: mail will tell you when it is free. Or ask %s with send_message. Do not "+
		"write it another way.", who)
	return words{text: b.String()}
}

// maxWhy is how many characters of a claim's reason are shown.
const maxWhy = 100

// A sheet is the frame of a set of messages: their fence, the text before and after them, and the total limit.
type sheet struct {
	fence     fence.Fence
	head, end string
	max       int // characters
}

// letter puts messages between head and end: whole while they fit, then as pointers, then as a count.
func (s sheet) letter(items []mail.Item, more int) words {
	var w words
	var b strings.Builder
	b.WriteString(s.head)
	left := s.max - length(s.head) - length(s.end) - length(rest(len(items)+more))
	add := func(text string, to *[]mail.ID, id mail.ID) bool {
		n := length(text) + 1
		if n > left {
			return false
		}
		b.WriteString(text + "\n")
		left -= n
		*to = append(*to, id)
		return true
	}
	for i := range items {
		it := &items[i]
		long := len(it.Body) > utf8.UTFMax*left // skip rendering: it cannot fit
		if (long || !add(s.fence.Message(it), &w.whole, it.ID)) && !add(s.pointer(it), &w.pointed, it.ID) {
			more++
		}
	}
	if more > 0 {
		b.WriteString(rest(more))
	}
	w.text = strings.TrimSuffix(b.String(), "\n") + s.end
	return w
}

func rest(n int) string { return fmt.Sprintf("and %d more: read_messages\n", n) }

// maxSubject is how many characters a pointer shows of a subject that would make it too long.
const maxSubject = 200

// pointer returns the fence's Pointer without the parts that could make it too long to be shown.
func (s sheet) pointer(it *mail.Item) string {
	if p := s.fence.Pointer(it); length(p) <= MaxText/8 {
		return p
	}
	short := *it
	short.Docs = nil
	if r := []rune(short.Subject); len(r) > maxSubject {
		short.Subject = string(r[:maxSubject]) + "…"
	}
	return s.fence.Pointer(&short)
}

func length(s string) int { return utf8.RuneCountInString(s) }

func messages(n int) string {
	if n == 1 {
		return "1 message"
	}
	return fmt.Sprintf("%d messages", n)
}
