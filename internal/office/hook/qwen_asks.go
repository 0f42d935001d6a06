package hook

import "pennypost/internal/mail"

// The dialogs of Qwen Code, as 0.15.10 was seen to have them. Its hook PermissionRequest runs before the dialog, which
// is not shown while the hook waits, and before the hook that tells of the use. As soon as the dialog stands it
// notifies of that.

// asksQwen fills in which dialog an event opens.
func asksQwen(e *Event, in input) {
	switch e.kind() {
	case "permissionrequest":
		switch e.Tool {
		case "ask_user_question": // which takes no answers from a hook
			e.asks(mail.AsksQuestion)
		case "exit_plan_mode":
			e.asks(mail.AsksPlan)
		default:
			e.asks(mail.AsksPermission, once, refuse)
		}
	case "notification":
		if in.text("notification_type") == "permission_prompt" {
			e.Untold = true
		}
	}
}

// decideQwen answers the dialog that e has opened.
func decideQwen(_ *Event, _ input, a *mail.DialogAnswer) string { return permission(a) }

// permission is the decision of a hook PermissionRequest in those clients that take no more of it than whether the
// tool may run, and a text if it may not.
func permission(a *mail.DialogAnswer) string {
	d := decisionClaude{Behavior: "allow"}
	if a.Verdict == mail.SayDeny {
		d.Behavior, d.Message = "deny", refusal(a)
	}
	return d.String()
}
