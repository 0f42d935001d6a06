package check

import (
	"maps"
	"slices"

	"pennypost/internal/mail"
)

// The configuration of each machine that has the room open lists recurring messages. The journal records the result:
// machines whose files say the same make one schedule of it, and an entry that the user has taken back is not made
// again before it changes.

// Obeyed reports whether an entry of the configuration was obeyed as it is.
func (v *View) Obeyed(s *mail.Standing) bool {
	known, ok := v.Entries[s.Name]
	return ok && known.Sum == s.Sum()
}

// MayStand refuses an entry of the configuration that could not be sent, or that not all machines would understand.
func (v *View) MayStand() error {
	switch m := v.Me(); {
	case v.anyLacks(mail.RulesOfEntries):
		return mail.Errorf(mail.Unavailable, "another machine that has room %s open runs an older or unknown "+
			"version: the message is scheduled when all are up to date", v.Room)
	case !v.IsUser() && (m == nil || !m.Listed()):
		return mail.Errorf(mail.NotFound, "from is %q, which is not an agent of the room: omit it to send as "+
			"yourself, or register the agent", v.Who)
	}
	return nil
}

// Stand decides that an entry, whose draft was checked, is obeyed from now on.
func (v *View) Stand(p *Plan, s *mail.Standing) ([]mail.Event, error) {
	if v.Obeyed(s) {
		return nil, nil
	}
	due, err := v.firstOf(&s.Draft)
	if err != nil {
		return nil, err
	}
	c := v.later(p, s.Draft, due)
	c.Entry = &mail.ScheduleEntry{Name: s.Name, Sum: s.Sum(), Machine: v.Machine}
	return []mail.Event{{At: v.Now, Schedule: c}}, nil
}

// Fallen decides that nothing more is sent for entries that the configuration of this machine had, and no longer has.
func (v *View) Fallen(standing []mail.Standing) (events []mail.Event) {
	for _, name := range slices.Sorted(maps.Keys(v.Entries)) {
		e := v.Entries[name]
		here := slices.ContainsFunc(standing, func(s mail.Standing) bool { return s.Name == name })
		if !here && (e.Machine == "" || e.Machine == v.Machine) {
			events = append(events, mail.Event{At: v.Now, Schedule: &mail.ScheduleChange{By: mail.System, End: true,
				Entry: &mail.ScheduleEntry{Name: name, Sum: e.Sum}}})
		}
	}
	return events
}
