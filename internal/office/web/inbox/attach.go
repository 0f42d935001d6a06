package inbox

import (
	"pennypost/internal/mail"
	"pennypost/internal/office/web/page"
)

// shownSession says where an agent's session is, with the command that shows or resumes it; "" if none is needed.
type shownSession struct {
	*page.View
	Text, Command string
}

// attach brings an agent's session to the front, or says how to reach it.
func attach(v *page.View) error {
	agent := mail.Name(v.R.PostForm.Get("agent"))
	if v.Site.Attach == nil {
		return mail.Errorf(mail.Unavailable, "this post office cannot bring sessions to the front")
	}
	got, err := v.Site.Attach(v.Ctx(), v.Room, agent)
	if err != nil {
		return err
	}
	s := shownSession{View: v, Command: got.Command}
	switch {
	case got.Front:
		s.Text = "It is in front of you: " + got.Where + "."
	case got.Where != "":
		s.Text = "It is in " + got.Where + ", which is not in view. This shows it in a terminal:"
	case got.Live && got.Command != "":
		s.Text = "It cannot be brought to the front: " + got.Why +
			". This opens it a second time; two terminals on one " +
			"session mix their messages:"
	case got.Live:
		s.Text = "It cannot be brought to the front: " + got.Why + "."
	case got.Command != "":
		s.Text = "No running session is known. This reopens the last one in a terminal:"
	default:
		s.Text = "There is no session to show: " + got.Why + "."
	}
	v.Title = "Session of " + string(agent)
	if !v.Scripted() {
		return v.Render("session", s)
	}
	v.Aim("#session-how", "innerHTML")
	return v.Part("session", "session-how", s)
}
