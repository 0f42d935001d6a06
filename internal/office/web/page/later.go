package page

import (
	"cmp"
	"os"
	"strings"
	"time"

	"pennypost/internal/config"
	"pennypost/internal/mail"
)

// LaterForm is what a form says of when something is sent, as it was typed.
type LaterForm struct {
	At    string // as browsers write it
	When  string // in words
	Every string // a line of cron
	Ends  string // the last day of that
	Zone  string // in which these are
}

// LaterForm reads the form's fields. Without script the zone is that of the post office, which the page shows.
func (v *View) LaterForm() LaterForm {
	field := func(name string) string { return strings.TrimSpace(v.R.PostForm.Get(name)) }
	return LaterForm{At: field("at"), When: field("when"), Every: field("every"), Ends: field("ends"),
		Zone: cmp.Or(field("zone"), OfficeZone())}
}

// OfficeZone is the time zone of the place where the post office is.
func OfficeZone() string { return cmp.Or(config.LocalZone(os.LookupEnv), "UTC") }

// Says reports whether anything was typed that says when.
func (f LaterForm) Says() bool { return f.At+f.When+f.Every+f.Ends != "" }

// Later returns when that is; the zero value is at once.
func (f LaterForm) Later(now time.Time) (l mail.Later, err error) {
	if !f.Says() {
		return l, nil
	}
	zone, err := time.LoadLocation(f.Zone)
	if err != nil || f.Zone == "Local" {
		return l, mail.Errorf(mail.Invalid, "%q is no time zone that is known here: write it like Europe/Berlin, or "+
			"UTC. Nothing was sent", f.Zone)
	}
	if f.At != "" && f.When != "" {
		return l, mail.Errorf(mail.Invalid, "there are two times: say it with the clock or in words. Nothing was sent")
	}
	now = now.In(zone)
	if l.At, err = mail.ParseWhen(f.At+f.When, now, mail.Ahead); err != nil {
		return mail.Later{}, err
	}
	if f.Ends != "" {
		if l.Until, err = mail.ParseWhen(f.Ends, now, mail.Until); err != nil {
			return mail.Later{}, err
		}
		l.Until-- // the day after begins then
	}
	if l.Every = f.Every; l.Every != "" {
		l.Zone = f.Zone
	}
	return l, nil
}
