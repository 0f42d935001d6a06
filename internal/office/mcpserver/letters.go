package mcpserver

import (
	"context"
	"slices"
	"strings"

	"pennypost/internal/base/wording"
	"pennypost/internal/fence"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// view is the mail to show in one answer.
type view struct {
	start  string // precedes everything else
	items  []mail.Item
	newest bool // where not all fits, omit the oldest, not the newest
	// end returns the last lines, given the messages that are shown.
	end func(shown []mail.Item) string
}

// show renders messages for a tool, and records those shown whole as presented through door.
func show(ctx context.Context, c *dialect.Call, v view, door string) dialect.Prose {
	text, whole := render(c, v)
	present(ctx, c, whole, door)
	return dialect.Prose(text)
}

// render renders as many messages as fit the budget and returns those. If even the first does not fit, it shows the
// beginning of that one.
func render(c *dialect.Call, v view) (text string, whole []mail.Item) {
	part := func(k int) []mail.Item {
		if v.newest {
			return v.items[len(v.items)-k:]
		}
		return v.items[:k]
	}
	f := fence.New()
	used := fence.Sent(v.start + fencedAnswer(f, v.items, "\n", ""))
	var letters []string
	best, end := 0, v.end(nil)
	for k := 1; k <= len(v.items); k++ {
		next := part(k)[0]
		if !v.newest {
			next = part(k)[k-1]
		}
		l := letter(c, next)
		letters = append(letters, f.Message(&l)+"\n")
		if used += fence.Sent(letters[k-1]); used > fence.Budget {
			break
		}
		// the closing words for all messages may be shorter than those for some
		if words := v.end(part(k)); used+fence.Sent(words) <= fence.Budget {
			best, end = k, words
		}
	}
	if best == 0 && len(v.items) > 0 {
		text, _ = onePart(v.start, letter(c, part(1)[0]), 0, v.end(part(1)))
		return text, nil
	}
	letters = letters[:best]
	if v.newest {
		slices.Reverse(letters)
	}
	return v.start + fencedAnswer(f, v.items, strings.Join(letters, ""), end), part(best)
}

// onePart renders a letter's text from an offset, as far as the budget allows, and reports whether it reached the
// end.
func onePart(start string, l mail.Item, offset int, end string) (text string, whole bool) {
	f, alone := fence.New(), []mail.Item{l}
	if offset == 0 {
		if text := start + fencedAnswer(f, alone, f.Message(&l)+"\n", end); fence.Sent(text) <= fence.Budget {
			return text, true
		}
	}
	rest := len(l.Body) - offset
	text, k := fence.Fit(rest, func(k int) string {
		return start + fencedAnswer(f, alone, f.Part(&l, offset, offset+k)+"\n", end)
	})
	return text, k == rest
}

// fencedAnswer assembles a tool's text about mail; letters are some of items.
func fencedAnswer(f fence.Fence, items []mail.Item, letters, end string) string {
	if letters != "" {
		letters = f.Notice(items) + "\n" + letters
	}
	return letters + end
}

// maxDocsInHead limits the bytes of document paths in the head of a letter; a message may have 200 KB of them.
const maxDocsInHead = 1000

// letter is a message as a tool shows it. Details without a field in the fence's head follow the body, inside the
// fence, and count towards offsets.
func letter(c *dialect.Call, it mail.Item) mail.Item {
	var below []string
	if !slices.Equal(it.To, []mail.Address{mail.AgentAddress(c.Caller)}) {
		to := wording.Join(it.To, ", ", func(a mail.Address) string { return string(a) })
		below = append(below, "to: "+to)
	}
	if st := it.Settled; st != nil && st.As == mail.Withdrawn {
		below = append(below, "withdrawn: no answer is needed")
	}
	if it.Suggests {
		below = append(below, "a suggestion: its sender was not asked, and it settles nothing")
	}
	for _, s := range it.Suggestions {
		below = append(below, "suggestion, settles nothing: "+string(s.ID)+" from "+string(s.From))
	}
	if len(it.Metadata) > 0 {
		below = append(below, "metadata: "+string(it.Metadata))
	}
	var docs []string
	for _, d := range it.Docs {
		docs = append(docs, d.Path)
	}
	if paths := strings.Join(docs, ", "); len(paths) > maxDocsInHead {
		it.Docs, below = nil, append(below, "docs: "+paths)
	}
	if len(below) > 0 {
		it.Body = strings.TrimPrefix(it.Body+"\n\n"+strings.Join(below, "\n"), "\n\n")
	}
	return it
}

// toolDoor is the door of mail that an agent asked for.
const toolDoor = "mcp"

// present records that the text of messages is on its way to the agent, for its own mail that this session had not
// yet been given.
func present(ctx context.Context, c *dialect.Call, items []mail.Item, door string) {
	var ids []mail.ID
	for _, it := range items {
		if it.State == mail.Queued || it.State == mail.Notified || it.State == mail.Presented {
			ids = append(ids, it.ID)
		}
	}
	c.Present(ctx, door, ids)
}
