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

// view is mail that is to be shown in one answer.
type view struct {
	start  string // stands before all
	items  []mail.Item
	newest bool // what does not fit is left out at the old end, not at the new one
	// end makes the last lines, for the messages that are shown.
	end func(shown []mail.Item) string
}

// show renders messages for a tool, and records that those which it shows whole reached the agent through a door.
func show(ctx context.Context, c *dialect.Call, v view, door string) dialect.Prose {
	text, whole := render(c, v)
	present(ctx, c, whole, door)
	return dialect.Prose(text)
}

// render renders messages, as many as the budget allows, and returns those too. Of a message that does not fit alone
// it shows the beginning.
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
		// the last words of all that there is may be shorter than those of a part
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

// onePart renders the text of a letter from an offset on, as far as the budget allows, and reports whether that was to
// its end.
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

// fencedAnswer puts together what a tool says of mail; letters are some of items.
func fencedAnswer(f fence.Fence, items []mail.Item, letters, end string) string {
	if letters != "" {
		letters = f.Notice(items) + "\n" + letters
	}
	return letters + end
}

// maxDocsInHead is how many bytes of documents' paths the head of a letter may hold; a message may have 200 KB of
// them.
const maxDocsInHead = 1000

// letter is a message as a tool shows it: what the head of its fence does not hold stands below its body, in the
// fence, and is read on with it.
func letter(c *dialect.Call, it mail.Item) mail.Item {
	var below []string
	if !slices.Equal(it.To, []mail.Address{mail.AgentAddress(c.Caller)}) {
		to := wording.Join(it.To, ", ", func(a mail.Address) string { return string(a) })
		below = append(below, "to: "+to)
	}
	if st := it.Settled; st != nil && st.As == mail.Withdrawn {
		below = append(below, "withdrawn: no answer is wanted any more")
	}
	if it.Suggests {
		below = append(below, "a suggestion: its sender was not asked, and it settles nothing")
	}
	for _, s := range it.Suggestions {
		below = append(below, "suggested, and settling nothing: "+string(s.ID)+" from "+string(s.From))
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

// toolDoor is the door of what an agent asked for.
const toolDoor = "mcp"

// present records that the text of messages is on its way to the agent, for those of its mail that its session had not
// been handed.
func present(ctx context.Context, c *dialect.Call, items []mail.Item, door string) {
	var ids []mail.ID
	for _, it := range items {
		if it.State == mail.Queued || it.State == mail.Notified || it.State == mail.Presented {
			ids = append(ids, it.ID)
		}
	}
	c.Present(ctx, door, ids)
}
