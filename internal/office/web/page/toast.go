package page

// Aim has our script put the answer elsewhere than it meant to, and leave the address of the page as it is.
func (v *View) Aim(target, swap string) {
	h := v.W.Header()
	h.Set("HX-Retarget", target)
	h.Set("HX-Reswap", swap)
	h.Set("HX-Push-Url", "false")
}

// Changed answers a change: our script with a toast, and an event that tells the page; a browser with the path in this
// room that comes next.
func (v *View) Changed(next, event, part string, data any) error {
	if !v.Scripted() {
		return v.Redirect(next)
	}
	v.Aim("#toasts", "beforeend")
	v.W.Header().Set("HX-Trigger", event)
	return v.Part("toasts", part, data)
}

// Toast tells what became of an act, and how to take it back.
type Toast struct {
	*View
	Text     string
	Undo     string // the key by which it can be taken back; "": it cannot
	Messages string // what it is about, as forms name it
	Done     string // what our script is to make of it: "gone", "back", "read", "unread", "answered" or "replied"
	Typed    string // in an answer that was taken back
	MS       int    // how long the toast stays
}
