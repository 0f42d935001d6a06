package check

import "pennypost/internal/mail"

// Dialog returns the event by which a dialog of an agent's client opens, is in doubt or ends. The agent itself
// reports it, through its client's hooks, and the user may end one. A report that changes nothing is no event.
func (v *View) Dialog(c mail.DialogChange) ([]mail.Event, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	if err := v.whoseWord(&c); err != nil {
		return nil, err
	}
	opens := c.Outcome == "" && !c.Doubt
	m := v.InSession(c.Agent, c.Session)
	if m == nil || m.Session != c.Session {
		if opens {
			return nil, mail.Errorf(mail.NotFound, "%s is not in the session with the dialog: nothing "+
				"was recorded", c.Agent)
		}
		return nil, nil
	}
	c.Agent, c.Process = m.Name, ""
	switch i := m.Dialog(c.ID); {
	case i >= 0:
		return changed(&m.Dialogs[i], c)
	case !opens:
		return nil, nil
	case v.IsUser():
		return nil, mail.Errorf(mail.Denied, "only a client's hooks report its dialogs: nothing was changed")
	case len(m.Dialogs) >= mail.MaxDialogs:
		return nil, mail.Errorf(mail.Limited, "%s has %d dialogs already: nothing was recorded", m.Name,
			mail.MaxDialogs)
	}
	c.Machine, c.Since = v.Machine, 0
	return []mail.Event{{Dialog: &c}}, nil
}

// changed returns the event by which a dialog that is open is in doubt or ends.
func changed(known *mail.Dialog, c mail.DialogChange) ([]mail.Event, error) {
	switch {
	case c.Sum != known.Sum:
		return nil, mail.Errorf(mail.Conflict, "the dialog %s has changed since: nothing was changed", c.ID)
	case c.Outcome == "" && (!c.Doubt || known.Doubt):
		return nil, nil
	}
	doubt := c.Doubt && c.Outcome == ""
	c.Dialog = *known
	c.Doubt = doubt
	return []mail.Event{{Dialog: &c}}, nil
}

// whoseWord records in c whose word it is. An agent cannot say that the user has answered somewhere, and a caller
// with a credential of the user's is not the user.
func (v *View) whoseWord(c *mail.DialogChange) error {
	switch {
	case c.Outcome == "":
		c.By, c.Where = "", ""
	case !v.IsUser():
		c.By, c.Where = "", mail.AtClient
	case v.Means.IsAct():
		c.By, c.Where = mail.User, string(v.Means)
	case v.Means != "" && v.Means != mail.ByRelay: // the post office itself has no means
		return mail.Errorf(mail.Denied, "only you yourself can end an agent's dialog: nothing was changed")
	}
	if !v.IsUser() {
		c.Agent = v.Who
	}
	return nil
}
