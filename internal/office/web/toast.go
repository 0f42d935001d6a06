package web

// aim has our script put the answer elsewhere than it meant to, and leave the address of the page as it is.
func (v *view) aim(target, swap string) {
	h := v.w.Header()
	h.Set("HX-Retarget", target)
	h.Set("HX-Reswap", swap)
	h.Set("HX-Push-Url", "false")
}

// changed answers a change: our script with a toast, and an event that tells the page; a browser with the path in this
// room that comes next.
func (v *view) changed(next, event, part string, data any) error {
	if !v.scripted() {
		return v.redirect(next)
	}
	v.aim("#toasts", "beforeend")
	v.w.Header().Set("HX-Trigger", event)
	return v.part("toasts", part, data)
}

// toast tells what became of an act, and how to take it back.
type toast struct {
	*view
	Text     string
	Undo     string // the key by which it can be taken back; "": it cannot
	Messages string // what it is about, as forms name it
	Done     string // what our script is to make of it: "gone", "back", "read", "unread", "answered" or "replied"
	Typed    string // in an answer that was taken back
	MS       int    // how long the toast stays
}
