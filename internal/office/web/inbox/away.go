package inbox

import (
	"slices"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/words"
	"pennypost/internal/wire"
)

// awayPart is the switch that sends agents' questions here instead of to their terminals.
type awayPart struct {
	*page.View
	Offered bool      // the post office has the switch
	Until   mail.Time // when it turns off for all agents; 0: it is off
	Some    []wire.Away
}

// awayOf returns the state of the switch. On an error, the switch is not offered.
func awayOf(v *page.View) awayPart {
	p := awayPart{View: v}
	if v.Site.Away == nil || v.Svc == nil {
		return p
	}
	list, err := v.Site.Away.Away(v.Ctx())
	if err != nil {
		v.Site.Log.Warn("away agents unknown", "err", err)
		return p
	}
	p.Offered = true
	for _, a := range list.Away {
		if a.Room == "" && a.Agent == "" {
			p.Until = max(p.Until, a.Until)
		} else {
			p.Some = append(p.Some, a)
		}
	}
	return p
}

// Spans are the times to be away that one press selects.
func (p awayPart) Spans() []awaySpan {
	return []awaySpan{{"30m", "for 30 minutes"}, {"1h", "for 1 hour"}, {"4h", "for 4 hours"}, {"12h", "for 12 hours"}}
}

type awaySpan struct{ Long, Label string }

// setAway turns the switch on or off for all agents of all rooms.
func setAway(v *page.View) error {
	if v.Site.Away == nil {
		return mail.Errorf(mail.Unavailable, "this post office has no switch for being away; nothing was changed")
	}
	a, err := awayAsked(v)
	if err != nil {
		return err
	}
	if _, err = v.Site.Away.SetAway(v.Ctx(), a); err != nil {
		return err
	}
	d := page.Toast{View: v, Text: "You are back: agents ask in their terminals", Done: "away", MS: 6000}
	if a.Until > mail.TimeOf(v.Now) {
		d.Text = "Agents ask you here until " + words.Moment(v.Now, a.Until)
	}
	return acted(v, d)
}

// awayAsked parses the form: away for a time, away until a time, or back.
func awayAsked(v *page.View) (a wire.Away, err error) {
	form := v.R.PostForm
	if form.Has("back") {
		a.Until = 1
		return a, nil
	}
	if at := form.Get("at"); at != "" && !form.Has("for") {
		until, ok := words.LocalTime(at, v.Now)
		if !ok || until <= mail.TimeOf(v.Now) {
			return a, mail.Errorf(mail.Invalid, "%q is not a future time; nothing was changed", at)
		}
		a.Until = until
		return a, nil
	}
	known := func(s awaySpan) bool { return s.Long == form.Get("for") }
	long, err := time.ParseDuration(form.Get("for"))
	if err != nil || !slices.ContainsFunc(awayPart{}.Spans(), known) {
		return a, mail.Errorf(mail.Invalid, "%q is not one of the times offered; nothing was changed", form.Get("for"))
	}
	a.Until = mail.TimeOf(v.Now.Add(long))
	return a, nil
}

// showAway renders the switch.
func showAway(v *page.View) error {
	if !v.Scripted() {
		return v.Redirect("/")
	}
	return v.Part("inbox", "away", awayOf(v))
}

// Switch is the state of the switch.
func (p *inboxPage) Switch() awayPart { return awayOf(p.View) }
