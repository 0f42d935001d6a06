package config

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"pennypost/internal/mail"
)

// maxScheduled is the largest number of entries in a room.
const maxScheduled = 100

// Scheduled is recurring mail of a room.
type Scheduled struct {
	Name    string    `toml:"name"` // identifies the entry when the rest changes
	From    mail.Name `toml:"from"` // "": the user
	To      []string  `toml:"to"`
	Type    string    `toml:"type"`
	Subject string    `toml:"subject"`
	Text    string    `toml:"text"`
	Every   string    `toml:"every"` // a cron line
	Zone    string    `toml:"zone"`  // "": LocalZone
	Until   string    `toml:"until"` // the last day, or a time; "": no end
}

// absolute matches the beginning of an absolute time.
var absolute = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\d{4}-\d\d-\d\d`) })

// entryName matches valid names of entries.
var entryName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[\p{L}\p{N}][\p{L}\p{N}._-]{0,63}$`)
})

// checkScheduled returns what is wrong with the entries of a section.
func (r *Room) checkScheduled(section string) error {
	if section == "room" && len(r.Scheduled) > 0 {
		return bad(section, "has scheduled mail, which belongs to one room: write [[rooms.NAME.scheduled]]")
	}
	if len(r.Scheduled) > maxScheduled {
		return bad(section, "has %d entries of scheduled mail; at most %d are allowed", len(r.Scheduled), maxScheduled)
	}
	seen := make(map[string]bool)
	for i := range r.Scheduled {
		s := &r.Scheduled[i]
		at := fmt.Sprintf("%s.scheduled]] entry %d", section, i+1)
		if entryName().MatchString(s.Name) {
			at = fmt.Sprintf("%s.scheduled]] %q", section, s.Name)
		}
		if seen[s.Name] {
			return mail.Errorf(mail.Invalid, "[[%s occurs twice: give each entry its own name", at)
		}
		seen[s.Name] = true
		if err := s.check(cmp.Or(r.MaxBody, mail.MaxBody)); err != nil {
			return mail.Errorf(mail.Invalid, "[[%s %w", at, err)
		}
	}
	return nil
}

// check returns what is wrong within s. The room checks whether the recipient exists.
func (s *Scheduled) check(maxBody int) error {
	wrong := func(format string, args ...any) error { return mail.Errorf(mail.Invalid, format, args...) }
	if !entryName().MatchString(s.Name) {
		return wrong("has no valid name: write name = \"standup\", with letters, digits, and . _ -")
	}
	if s.From != "" && s.From != mail.User {
		if _, err := mail.ParseName(string(s.From)); err != nil {
			return wrong("from: %w", err)
		}
	}
	switch {
	case len(s.To) == 0:
		return wrong("has no recipient: write to = [\"builder\"]")
	case strings.TrimSpace(s.Text) == "":
		return wrong("has no text: write text = \"…\"")
	case s.Every == "":
		return wrong("has no time: write every = \"0 9 * * mon-fri\", a cron line")
	}
	for _, to := range s.To {
		if strings.TrimSpace(to) == "" {
			return wrong("to has an empty address: write a name, role:ROLE or all")
		}
	}
	if _, err := mail.ParseCron(s.Every); err != nil {
		return wrong("every: %w", err)
	}
	if zone := s.zone(); zone == "" {
		return wrong("has no zone, and the time zone of this machine is unknown: write zone = \"Europe/Berlin\"")
	} else if _, err := time.LoadLocation(zone); err != nil || zone == "Local" {
		return wrong("zone is %q, which is unknown here: write it like Europe/Berlin, or UTC", zone)
	}
	if _, err := s.until(); err != nil {
		return wrong("until is %q: write a day, \"2027-06-30\", or a time, \"2027-06-30 18:00\"", s.Until)
	}
	d := s.draft()
	return d.Check(maxBody)
}

// zone returns the time zone of Every.
func (s *Scheduled) zone() string { return cmp.Or(s.Zone, LocalZone(os.LookupEnv)) }

// until returns the last moment at which s is sent, 0 if there is none.
func (s *Scheduled) until() (mail.Time, error) {
	if s.Until == "" {
		return 0, nil
	}
	zone, err := time.LoadLocation(s.zone())
	if err != nil {
		return 0, err
	}
	if !absolute().MatchString(s.Until) {
		return 0, mail.Errorf(mail.Invalid, "%q is not a day", s.Until)
	}
	return mail.ParseWhen(s.Until, time.Unix(0, 0).In(zone), mail.Through)
}

// draft returns the message to send.
func (s *Scheduled) draft() mail.Draft {
	until, _ := s.until() // check has validated it
	return mail.Draft{To: s.To, Type: s.Type, Subject: s.Subject, Body: s.Text,
		Later: mail.Later{Every: s.Every, Zone: s.zone(), Until: until}}
}

// Standing returns the recurring mail of the room.
func (r *Room) Standing() []mail.Standing {
	out := make([]mail.Standing, len(r.Scheduled))
	for i := range r.Scheduled {
		s := &r.Scheduled[i]
		out[i] = mail.Standing{Name: s.Name, From: cmp.Or(s.From, mail.User), Draft: s.draft()}
	}
	return out
}

// printScheduled writes the entries of a room.
func (r *Room) printScheduled(b *strings.Builder, name string) {
	for i := range r.Scheduled {
		s := &r.Scheduled[i]
		fmt.Fprintf(b, "[[%s.scheduled]]\n", name)
		writeRows(b, row{name: "name", value: s.Name, about: "identifies the entry when the rest changes"},
			row{name: "from", value: string(cmp.Or(s.From, mail.User)), about: "the sender"},
			row{name: "to", value: s.To, about: "addresses"},
			row{name: "type", value: given(s.Type), about: "of the message"},
			row{name: "subject", value: given(s.Subject), about: "of the message"},
			row{name: "text", value: s.Text, about: "the body"},
			row{name: "every", value: s.Every, about: "minute, hour, day of the month, month, day of the week"},
			row{name: "zone", value: s.zone(), about: "time zone of the hours"},
			row{name: "until", value: given(s.Until), about: "the last day, or the last moment"})
	}
}

// LocalZone returns the name of this machine's time zone, "" if unknown.
func LocalZone(lookup func(string) (string, bool)) string {
	name, set := lookup("TZ")
	if set && name == "" || time.Local == time.UTC {
		return "UTC"
	}
	if !set {
		file, err := os.Readlink("/etc/localtime")
		if err != nil {
			return ""
		}
		_, name, _ = strings.Cut(file, "zoneinfo/")
	}
	if name = strings.TrimPrefix(name, ":"); name == "" {
		return ""
	}
	if _, err := time.LoadLocation(name); err != nil {
		return ""
	}
	return name
}
