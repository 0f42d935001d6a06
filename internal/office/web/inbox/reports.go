package inbox

import (
	"strconv"
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/page"
)

// reportsLine is the prefix of a form's line for folded status reports.
const reportsLine = "reports:"

// reportLine names the folded status reports in forms, up to the newest one shown, so that later ones stay untouched.
func (p *inboxPage) reportLine(newest mail.Time) string {
	room := p.Room
	if p.All {
		room = ""
	}
	return reportsLine + strings.Join([]string{strconv.FormatInt(int64(newest), 10), string(room), p.Shelf,
		string(p.Workspace)}, "/")
}

// reported returns the messages of a reportLine, among the newest mail.MaxLimit conversations.
func reported(v *page.View, line string) (lines []string, err error) {
	parts := strings.SplitN(strings.TrimPrefix(line, reportsLine), "/", 4)
	if len(parts) < 4 {
		return nil, mail.Errorf(mail.Invalid, "%.80q does not name messages", line)
	}
	newest, err := strconv.ParseInt(parts[0], 10, 64)
	if err != nil {
		return nil, mail.Errorf(mail.Invalid, "%.80q does not name messages", line)
	}
	p := inboxPage{View: v, Shelf: parts[2], All: parts[1] == "", Workspace: mail.Name(parts[3])}
	ask := p.query()
	if !p.All {
		ask.Rooms = []mail.RoomName{mail.RoomName(parts[1])}
	}
	ask.Status, ask.Part, ask.Limit = true, mail.Updates, mail.MaxLimit
	desk, err := v.Site.Office.Desk(v.Ctx(), ask)
	if err != nil {
		return nil, err
	}
	for i := range desk.Updates {
		if c := &desk.Updates[i]; c.Sent <= mail.Time(newest) {
			lines = append(lines, strings.Split(deskRow{Conversation: *c}.Lines(), "\n")...)
		}
	}
	return lines, nil
}
