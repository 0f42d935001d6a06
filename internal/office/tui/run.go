package tui

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/gdamore/tcell/v3"

	"pennypost/internal/base/pause"
	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
)

// Options configure Run.
type Options struct {
	Office mail.Office
	Room   mail.RoomName // the only room to show; "": all
	Editor string        // a command line, to which the file's path is appended
	Plain  bool          // no colours, for NO_COLOR
	// Link reports the connection that brings changes: false when it breaks, true when there is a new one. Nil: it is
	// assumed to hold.
	Link <-chan bool
	// Keep stores the person's choice of room, "" for all. Nil: it is not stored.
	Keep func(mail.RoomName)
}

// callPatience limits one call to the post office. Searching the archive takes longest.
const callPatience = 30 * time.Second

// lastPatience limits the sending of pending mail when the view is ended from outside, and callsPatience the wait for
// running calls before that.
const (
	lastPatience  = 5 * time.Second
	callsPatience = time.Second
)

// Run shows the post office until the person quits, the terminal closes or ctx ends. It sends pending answers before
// it returns; the error names those that it could not send.
func Run(ctx context.Context, opts Options) error {
	tcell.SetEncodingFallback(tcell.EncodingFallbackUTF8)
	scr, err := tcell.NewScreen(tcell.OptSanitizeContent(true))
	if err == nil {
		err = scr.Init()
	}
	if err != nil {
		return mail.Errorf(mail.Conflict, "cannot draw on this terminal: %w", err)
	}
	scr.EnablePaste()
	scr.EnableMouse(tcell.MouseButtonEvents)
	r := &runner{opts: opts, scr: scr, model: newModel(opts.Room, time.Now()), heard: make(chan message, 64)}
	r.model.first, r.model.plain = true, opts.Plain
	var end context.CancelFunc
	r.lives, end = context.WithCancel(context.WithoutCancel(ctx))
	ctx, r.cancel = context.WithCancel(ctx)
	r.run(ctx)
	scr.Fini()
	r.cancel()
	end()
	r.work.Wait()
	return r.model.unsent()
}

// runner carries out the model's effects. Only the goroutine of run uses it, except for heard.
type runner struct {
	opts    Options
	scr     tcell.Screen
	model   *model
	paste   *[]byte // the paste in progress
	quits   bool
	buttons tcell.ButtonMask // the mouse buttons that are down
	cancel  context.CancelFunc
	work    sync.WaitGroup  // goroutines that send to heard
	calls   sync.WaitGroup  // those that call the post office
	lives   context.Context // until Run returns
	heard   chan message
}

func (r *runner) run(ctx context.Context) {
	r.work.Go(func() { r.watch(ctx) })
	w, h := r.scr.Size()
	r.model.update(resized{w, h})
	r.do(ctx, r.model.start())
	for !r.quits {
		r.paint()
		select {
		case e := <-r.scr.EventQ():
			r.event(ctx, e)
		case msg := <-r.heard:
			r.do(ctx, r.model.update(msg))
		case up := <-r.opts.Link:
			var err error
			if !up {
				err = errors.New("connection lost")
			}
			r.do(ctx, r.model.update(away{err, time.Now()}))
		case <-ctx.Done():
			r.last()
			return
		}
	}
}

// last sends pending mail after the terminal is gone.
func (r *runner) last() {
	ctx, cancel := context.WithTimeout(context.Background(), lastPatience)
	defer cancel()
	r.awaitCalls()
	for _, e := range r.model.quit() {
		if c, ok := e.(call); ok {
			r.model.update(c(ctx, r.opts.Office))
		}
	}
	for r.model.sending() {
		select {
		case msg := <-r.heard:
			r.model.update(msg)
		case <-ctx.Done():
			return
		}
	}
}

// awaitCalls waits for running calls, so that the last ones can reuse their connections: a caller is identified once
// per connection, and without a terminal a new connection would not be the person's.
func (r *runner) awaitCalls() {
	done := make(chan struct{})
	go func() {
		r.calls.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(callsPatience):
	}
}

// do carries out effects.
func (r *runner) do(ctx context.Context, effects []effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case call:
			r.calls.Add(1)
			r.work.Go(func() {
				defer r.calls.Done()
				lives, cancel := context.WithTimeout(r.lives, callPatience)
				defer cancel()
				r.tell(ctx, e(lives, r.opts.Office))
			})
		case later:
			r.work.Go(func() {
				if !pause.For(ctx, e.in) {
					return
				}
				if _, ok := e.then.(minute); ok {
					e.then = minute{time.Now()}
				}
				r.tell(ctx, e.then)
			})
		case editor:
			r.do(ctx, r.model.update(r.edit(e)))
		case suspend:
			r.suspend()
		case keep:
			if r.opts.Keep != nil {
				r.work.Go(func() { r.opts.Keep(e.room) })
			}
		case quit:
			r.quits = true
		}
	}
}

func (r *runner) tell(ctx context.Context, msg message) {
	select {
	case r.heard <- msg:
	case <-ctx.Done():
		select {
		case r.heard <- msg: // last may still be receiving
		default:
		}
	}
}

// watch tells the model of changes. The client reconnects by itself.
func (r *runner) watch(ctx context.Context) {
	for wait := 100 * time.Millisecond; ctx.Err() == nil; wait = min(2*wait, 5*time.Second) {
		w, err := r.opts.Office.WatchDesk(ctx)
		for err == nil {
			if _, err = w.Next(ctx); err == nil {
				wait = 100 * time.Millisecond
				r.tell(ctx, away{nil, time.Now()})
				r.tell(ctx, changed{})
			}
		}
		if w != nil {
			w.Close()
		}
		if ctx.Err() == nil {
			r.tell(ctx, away{err, time.Now()})
			pause.For(ctx, wait)
		}
	}
}

// event passes a terminal event to the model.
func (r *runner) event(ctx context.Context, e tcell.Event) {
	switch e := e.(type) {
	case *tcell.EventResize:
		r.scr.Sync()
		w, h := r.scr.Size() // the event has the size that the terminal reports, and tmux 3.3 swaps width and height
		r.do(ctx, r.model.update(resized{w, h}))
	case *tcell.EventPaste:
		if e.Start() {
			r.paste = new([]byte)
		} else if r.paste != nil {
			text := string(*r.paste)
			r.paste = nil
			r.do(ctx, r.model.update(pasted(text)))
		}
	case *tcell.EventKey:
		k := keyName(e)
		switch {
		case r.paste != nil && k == "enter":
			*r.paste = append(*r.paste, '\n')
		case r.paste != nil && k == "tab":
			*r.paste = append(*r.paste, '\t')
		case r.paste != nil:
			*r.paste = append(*r.paste, e.Str()...)
		case k == "ctrl+l":
			r.scr.Sync()
		case k != "":
			r.do(ctx, r.model.update(key(k)))
		}
	case *tcell.EventMouse:
		r.mouse(ctx, e)
	case *tcell.EventError: // the terminal closed
		r.cancel()
	}
}

// mouse tells the model of presses of the first button, and of the wheel.
func (r *runner) mouse(ctx context.Context, e *tcell.EventMouse) {
	now := e.Buttons()
	down := now&^r.buttons&tcell.ButtonPrimary != 0
	r.buttons = now
	switch {
	case now&tcell.WheelUp != 0:
		r.do(ctx, r.model.update(wheeled(-1)))
	case now&tcell.WheelDown != 0:
		r.do(ctx, r.model.update(wheeled(1)))
	case down:
		x, y := e.Position()
		r.do(ctx, r.model.update(clicked{x, y}))
	}
}

// keyNames are the names of keys that are not characters.
var keyNames = map[tcell.Key]string{
	tcell.KeyEnter: "enter", tcell.KeyEscape: "esc", tcell.KeyTab: "tab", tcell.KeyBacktab: "shift+tab",
	tcell.KeyBackspace: "backspace", tcell.KeyDelete: "delete", tcell.KeyUp: "up", tcell.KeyDown: "down",
	tcell.KeyLeft: "left", tcell.KeyRight: "right", tcell.KeyHome: "home", tcell.KeyEnd: "end",
	tcell.KeyPgUp: "pgup", tcell.KeyPgDn: "pgdn",
}

// keyName returns the model's name for a key; "": the model does not use it.
func keyName(e *tcell.EventKey) string {
	mod := e.Modifiers()
	name := keyNames[e.Key()]
	switch {
	case name != "" && mod&tcell.ModShift != 0 && name == "tab":
		return "shift+tab"
	case name != "":
	case e.Key() >= tcell.KeyCtrlA && e.Key() <= tcell.KeyCtrlZ:
		return "ctrl+" + string(rune('a'+e.Key()-tcell.KeyCtrlA))
	case e.Key() == tcell.KeyRune:
		name = e.Str()
	default:
		return ""
	}
	if mod&tcell.ModCtrl != 0 {
		return "ctrl+" + name
	}
	if mod&tcell.ModAlt != 0 {
		return "alt+" + name
	}
	return name
}

// paint draws the model's view. tcell sends only the differences to the terminal.
func (r *runner) paint() {
	s := r.model.view()
	r.scr.Clear()
	for y, l := range s.lines {
		x := 0
		for _, part := range l {
			x = r.put(x, y, part)
		}
	}
	if s.cx >= 0 {
		r.scr.ShowCursor(s.cx, s.cy)
	} else {
		r.scr.HideCursor()
	}
	r.scr.Show()
}

func (r *runner) put(x, y int, part span) int {
	st := look(part.style)
	for _, c := range cells(part.text, 0) {
		if c.width > 0 {
			r.scr.Put(x, y, c.text, st)
			x += c.width
		}
	}
	return x
}

// look converts a style for tcell.
func look(s style) tcell.Style {
	st := tcell.StyleDefault.Bold(s&(bold|label) != 0).Reverse(s&reverse != 0)
	for _, c := range []struct {
		of    style
		color int
	}{{grey, 8}, {red, 9}, {green, 10}, {amber, 11}, {blue, 12}} {
		if s&c.of != 0 {
			st = st.Foreground(tcell.PaletteColor(c.color))
		}
	}
	switch {
	case s&label != 0:
		return st.Background(tcell.PaletteColor(1)).Foreground(tcell.PaletteColor(15))
	case s&chosen != 0 && s&(red|amber|green|blue) == 0:
		return st.Background(tcell.PaletteColor(4)).Foreground(tcell.PaletteColor(15))
	case s&chosen != 0:
		return st.Background(tcell.PaletteColor(4))
	}
	return st
}

// sending reports whether mail or an answer is being sent.
func (m *model) sending() bool { return len(m.pending)+m.answers > 0 }

// unsent returns an error that counts the mail not sent when the view ended.
func (m *model) unsent() error {
	n := len(m.pending) + len(m.held) + m.answers
	if n == 0 {
		return nil
	}
	return mail.Errorf(mail.Unavailable, "%s could not be sent: the post office does not answer. The questions are "+
		"still open", wording.Plural(n, "message"))
}
