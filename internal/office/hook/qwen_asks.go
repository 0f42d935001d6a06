package hook

import "pennypost/internal/mail"

// The dialogs of Qwen Code, as seen in 0.15.10. Its PermissionRequest hook runs before the dialog, which is hidden
// while the hook waits, and before the hook that reports the tool call. A notification follows as soon as the dialog
// is shown.

// asksQwen fills in the dialog that an event opens.
func asksQwen(e *Event, in input) {
	switch e.kind() {
	case "permissionrequest":
		switch e.Tool {
		case "ask_user_question": // it takes no answers from a hook
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

// decideQwen answers the dialog that e opened.
func decideQwen(_ *Event, _ input, a *mail.DialogAnswer) string { return permission(a) }

// permission is the PermissionRequest decision for clients that only accept whether the tool may run, and a reason if
// not.
func permission(a *mail.DialogAnswer) string {
	d := decisionClaude{Behavior: "allow"}
	if a.Verdict == mail.SayDeny {
		d.Behavior, d.Message = "deny", refusal(a)
	}
	return d.String()
}
