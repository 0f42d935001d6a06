package web

import (
	"pennypost/internal/mail"
)

// shownSession is where the session of an agent is, and the command that shows or resumes it, "" if none has to.
type shownSession struct {
	*view
	Text, Command string
}

// attach brings the session of an agent before the person, or says how they come to it.
func attach(v *view) error {
	agent := mail.Name(v.r.PostForm.Get("agent"))
	if v.site.Attach == nil {
		return mail.Errorf(mail.Unavailable, "sessions cannot be brought to the front from here")
	}
	got, err := v.site.Attach(v.ctx(), v.Room, agent)
	if err != nil {
		return err
	}
	s := shownSession{view: v, Command: got.Command}
	switch {
	case got.Front:
		s.Text = "It is in front of you: " + got.Where + "."
	case got.Where != "":
		s.Text = "It is in " + got.Where + ", and nobody looks at that now. This shows it in a terminal:"
	case got.Live && got.Command != "":
		s.Text = "It cannot be brought to the front: " + got.Why +
			". This opens it a second time, and two terminals on " +
			"one session mix what is said in it:"
	case got.Live:
		s.Text = "It cannot be brought to the front: " + got.Why + "."
	case got.Command != "":
		s.Text = "No session that runs is known. This opens the last one again in a terminal:"
	default:
		s.Text = "There is no session that could be shown: " + got.Why + "."
	}
	v.Title = "Session of " + string(agent)
	if !v.scripted() {
		return v.render("session", s)
	}
	v.aim("#session-how", "innerHTML")
	return v.part("session", "session-how", s)
}
