package page

import (
	"cmp"
	"os"
	"strings"
	"time"

	"pennypost/internal/config"
	"pennypost/internal/mail"
)

// LaterForm is a form's time to send, as typed.
type LaterForm struct {
	At    string // as browsers write it
	When  string // in words
	Every string // a cron expression
	Ends  string // the last day to repeat
	Zone  string // the time zone of these
}

// LaterForm reads the form's fields. Without script the zone is the post office's, which the page shows.
func (v *View) LaterForm() LaterForm {
	field := func(name string) string { return strings.TrimSpace(v.R.PostForm.Get(name)) }
	return LaterForm{At: field("at"), When: field("when"), Every: field("every"), Ends: field("ends"),
		Zone: cmp.Or(field("zone"), OfficeZone())}
}

// OfficeZone is the post office's time zone.
func OfficeZone() string { return cmp.Or(config.LocalZone(os.LookupEnv), "UTC") }

// Says reports whether a time was typed.
func (f LaterForm) Says() bool { return f.At+f.When+f.Every+f.Ends != "" }

// Later parses the time; the zero value is immediately.
func (f LaterForm) Later(now time.Time) (l mail.Later, err error) {
	if !f.Says() {
		return l, nil
	}
	zone, err := time.LoadLocation(f.Zone)
	if err != nil || f.Zone == "Local" {
		return l, mail.Errorf(mail.Invalid, "%q is not a known time zone: write it like Europe/Berlin or UTC. "+
			"Nothing was sent", f.Zone)
	}
	if f.At != "" && f.When != "" {
		return l, mail.Errorf(mail.Invalid, "two times are given: use either the clock or words. Nothing was sent")
	}
	now = now.In(zone)
	if l.At, err = mail.ParseWhen(f.At+f.When, now, mail.Ahead); err != nil {
		return mail.Later{}, err
	}
	if f.Ends != "" {
		if l.Until, err = mail.ParseWhen(f.Ends, now, mail.Until); err != nil {
			return mail.Later{}, err
		}
		l.Until-- // Until is the start of the next day
	}
	if l.Every = f.Every; l.Every != "" {
		l.Zone = f.Zone
	}
	return l, nil
}
