package mail

// Word returns the state in plain words.
func (s DeliveryState) Word() string {
	switch s {
	case Notified:
		return "woken"
	case Presented:
		return "delivered"
	case Dead:
		return "not delivered"
	case KeptHere:
		return "kept on this machine"
	}
	return string(s)
}

// Awaits says in plain words what mail that its recipient has not looked at waits for, for display next to the
// recipient's name; "" if it waits for nothing. The exact words are State and Wake.
func (d Delivery) Awaits() string {
	since := d.Asking.Std().Local().Format("15:04")
	switch {
	case d.Asking == 0 || d.State != Queued && d.State != Notified:
		return d.awaits()
	case d.Doubt:
		return "may still be in its client's dialog of " + since + "; " + d.awaits()
	}
	return "has been in its client's dialog since " + since + "; its user was asked"
}

// awaits is Awaits without dialogs.
func (d Delivery) awaits() string {
	switch {
	case d.State == NotSent:
		return d.Why
	case d.State == KeptHere:
		return "is sent when the room is reachable again; no agent has it yet"
	case d.State == Held:
		return "no agent has the role; the next one to take it gets this"
	case d.Agent == User:
		return d.userAwaits()
	case d.State == Dead:
		return "its session has ended; gets it when it comes back"
	case d.State == Notified && d.Door == HookDoor:
		return "was notified; has not read it yet"
	case d.State == Notified:
		return "was woken; has not looked yet"
	case d.State != Queued:
		return ""
	case d.Agent == "":
		return "no recipient yet"
	}
	switch d.Wake {
	case WakeWaiting:
		return "is waiting for mail and gets it now"
	case InboxDoor:
		return "gets it in its inbox, which its client shows immediately"
	case WakeTurnEnd:
		if d.Sees == "" {
			return "is working; sees it when it next looks"
		}
		return "is working; sees it after its next tool call, or when its turn ends"
	case WakeNoDoor:
		return "cannot be woken; " + d.sees()
	case WakeDeferred:
		return "did not react to a wake; not woken again before " + d.PutOff.Std().Local().Format("15:04")
	case WakeBroken:
		return "was interrupted; not woken before " + d.PutOff.Std().Local().Format("15:04:05")
	case WakeAway:
		return "is on " + string(d.Machine) + ", which is away; is woken when that returns"
	case WakeNone, "":
		return d.sees()
	}
	if d.Machine != "" {
		return "is being woken on " + string(d.Machine)
	}
	return "is being woken"
}

// sees says when a recipient that no one wakes will see it.
func (d Delivery) sees() string {
	switch d.Sees {
	case SeesWhole:
		return "sees it when its next turn begins"
	case SeesCount:
		return "sees the number of messages when its next turn begins"
	}
	return "sees it when it next looks"
}

// userAwaits is Awaits for mail to the user, whom no door wakes: channels notify the user.
func (d Delivery) userAwaits() string {
	switch {
	case d.State == Notified:
		return "was notified by " + d.Door + "; not read yet"
	case d.State != Queued:
		return ""
	case d.Wake == WakeDeferred:
		return "is notified after the quiet hours, at " + d.PutOff.Std().Local().Format("15:04")
	case d.Wake == WakeNone, d.Wake == WakeNoDoor, d.Wake == "":
		return "not read yet"
	}
	return "is being notified by " + d.Wake
}

// Looked says in plain words how an agent last came to see its mail, from the door recorded for it: "checked its
// mail", to be followed by the time. The exact word is the door.
func Looked(door string) string {
	switch door {
	case "":
		return "has not looked at mail yet"
	case "mcp", "cli":
		return "checked its mail"
	case HookDoor:
		return "was shown its mail"
	case WaitDoor:
		return "got the mail it waited for"
	}
	return "was woken"
}

// On says which machine the agent is on, to follow its name or state: "on laptop-2", "on laptop-2, away". It is ""
// if the room is on one machine.
func (a *Agent) On() string {
	switch {
	case a.Machine == "":
		return ""
	case a.MachineAway:
		return "on " + string(a.Machine) + ", away"
	}
	return "on " + string(a.Machine)
}
