package claudeteams

import (
	"strings"

	"pennypost/internal/mail"
)

// rule maps a protocol frame to mail of the room.
type rule struct {
	frame string
	typ   mail.Type
	needs []string // required members
	about string   // subject for a frame that has none
	// subject is the member that holds the subject.
	subject string
	// detail is the member whose value follows about in the subject.
	detail string
	// text are the members that may hold text for a reader. The first that is present becomes the body.
	text []string
}

// rules are the frames seen so far: those of the seed document, then those of later releases. A shutdown is custom
// mail, not a cancel: only a proven, authorised sender may cancel, and the writer of a file is not proven.
func rules() []rule {
	return []rule{
		// Its result is the model's last output. The second of two in a row has no reason (2.1.330).
		{frame: "idle_notification", typ: mail.Status, needs: []string{"from"}, about: "idle",
			detail: "idleReason", text: []string{"failureReason", "result", "summary"}},
		{frame: "shutdown_request", typ: mail.Custom, needs: []string{"requestId"}, about: "shutdown requested",
			text: []string{"reason"}},
		{frame: "shutdown_response", typ: mail.Custom, needs: []string{"requestId", "approved"}, about: "shutdown",
			text: []string{"content", "reason"}},
		{frame: "task_assignment", typ: mail.TaskAssigned, needs: []string{"taskId", "subject"}, about: "task",
			subject: "subject", text: []string{"description"}},
		{frame: "plan_approval_request", typ: mail.ReviewRequest, needs: []string{"requestId"},
			about: "plan for approval", text: []string{"plan", "planContent"}},
		{frame: "plan_approval_response", typ: mail.ReviewResult, needs: []string{"requestId", "approved"},
			about: "plan", text: []string{"feedback", "reason"}},

		{frame: "shutdown_approved", typ: mail.Custom, needs: []string{"requestId"}, about: "shutdown approved"},
		{frame: "shutdown_rejected", typ: mail.Custom, needs: []string{"requestId"}, about: "shutdown rejected",
			text: []string{"reason", "content"}},
		{frame: "task_completed", typ: mail.TaskDone, about: "task completed", subject: "taskSubject",
			text: []string{"summary", "message"}},
		{frame: "teammate_terminated", typ: mail.Status, about: "teammate terminated", text: []string{"message"}},
		{frame: "permission_request", typ: mail.Question, needs: []string{"request_id"}, about: "permission asked",
			detail: "tool_name", text: []string{"description"}},
		{frame: "permission_response", typ: mail.Answer, needs: []string{"request_id"}, about: "permission answered",
			detail: "subtype", text: []string{"error"}},
		{frame: "sandbox_permission_request", typ: mail.Question, about: "sandbox permission asked",
			text: []string{"description"}},
		{frame: "sandbox_permission_response", typ: mail.Answer, about: "sandbox permission answered"},
		{frame: "mode_set_request", typ: mail.Custom, needs: []string{"mode"}, about: "mode", detail: "mode"},
		{frame: "team_permission_update", typ: mail.Custom, about: "permissions of the team changed"},
	}
}

// requests maps each response frame to its request frame. requestId or request_id links the two.
func requests() map[string]string {
	return map[string]string{
		"shutdown_response": "shutdown_request", "shutdown_approved": "shutdown_request",
		"shutdown_rejected":      "shutdown_request",
		"plan_approval_response": "plan_approval_request", "permission_response": "permission_request",
		"sandbox_permission_response": "sandbox_permission_request",
	}
}

// colours are the colours of teammates, in the order of joining. The lead has none.
func colours() []string {
	return []string{"blue", "green", "yellow", "purple", "orange", "pink", "cyan", "red"}
}

// leadName is the name of every team's lead.
const leadName = "team-lead"

// maxSummary is the maximum length, in characters, of a summary that we write; Claude Code cuts longer ones.
const maxSummary = 100

// sanitise returns the file or directory name for an agent or a team. Claude Code counts UTF-16 code units: a
// character of two units becomes two dashes.
func sanitise(name string) string {
	var b strings.Builder
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			b.WriteRune(r)
		case r > 0xffff:
			b.WriteString("--")
		default:
			b.WriteByte('-')
		}
	}
	return b.String()
}

// sameFile reports whether two names may share a file: some file systems ignore case.
func sameFile(a, b string) bool { return strings.EqualFold(sanitise(a), sanitise(b)) }
