package page

// Aim makes the script put the response at another target and leave the page's address as it is.
func (v *View) Aim(target, swap string) {
	h := v.W.Header()
	h.Set("HX-Retarget", target)
	h.Set("HX-Reswap", swap)
	h.Set("HX-Push-Url", "false")
}

// Changed answers a change: the script gets a toast and an event for the page, a browser without script a redirect to
// the path next in this room.
func (v *View) Changed(next, event, part string, data any) error {
	if !v.Scripted() {
		return v.Redirect(next)
	}
	v.Aim("#toasts", "beforeend")
	v.W.Header().Set("HX-Trigger", event)
	return v.Part("toasts", part, data)
}

// Toast says what was done, and how to undo it.
type Toast struct {
	*View
	Text     string
	Undo     string // the key to undo it; "": it cannot be undone
	Messages string // the messages, as forms name them
	Done     string // for the script: "gone", "back", "read", "unread", "answered" or "replied"
	Typed    string // the text of an undone answer
	MS       int    // display time
}
