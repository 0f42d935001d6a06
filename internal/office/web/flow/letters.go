package flow

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/picture"
	"pennypost/internal/office/web/words"
)

// letter is a row of the picture: a message and its line.
type letter struct {
	page.Post
	Mark string // the time or day that begins above the row; "" for most rows
	Path string
}

// letters draws messages, newest first.
func (p *flowPage) letters(posts []page.Post) {
	drawn := make([]picture.Letter, len(posts))
	for i, post := range posts {
		drawn[i] = picture.Letter{Room: post.Room, Item: post.Item}
	}
	p.Chart = picture.NewChart(drawn)
	before := ""
	for i, post := range posts {
		l := letter{Post: post, Path: p.Chart.Rows[i]}
		if mark := p.mark(post.Sent); mark != before && (before != "" || p.byDay()) {
			l.Mark = mark
		}
		before = p.mark(post.Sent)
		p.Letters = append(p.Letters, l)
	}
}

// byDay reports whether rows are grouped by day.
func (p *flowPage) byDay() bool { return p.Window.Long == 0 || p.Window.Long > 24*time.Hour }

// mark names the group of a message: its day, or the end of its hour or half hour.
func (p *flowPage) mark(sent mail.Time) string {
	if p.byDay() {
		return words.Date(p.Now, sent)
	}
	at := sent.Std().In(p.Now.Location())
	part := 60
	if p.Window.Long <= 6*time.Hour {
		part = 30
	}
	return time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute()/part*part+part, 0, 0,
		at.Location()).Format("15:04")
}

// Class is the CSS class of the row: a question to the user, lost mail, finished work.
func (l letter) Class() string {
	switch state := l.Fate().State; {
	case l.Post.Asks():
		return "asks"
	case state == mail.Dead || state == mail.Expired || state == mail.Held:
		return "lost"
	case l.Type == mail.TaskDone:
		return "done"
	}
	return ""
}

// Outcome describes the outcome.
func (l letter) Outcome() string {
	switch {
	case l.Settled != nil:
		return words.Settled(l.Now, l.Settled)
	case l.Item.Open:
		return "waits " + words.Ago(l.Now, l.Sent)
	}
	return l.Fate().String()
}

// Parties says who wrote to whom. Each name keeps its own text direction.
func (l letter) Parties() string {
	var to []string
	for _, d := range l.Deliveries {
		name := cmp.Or(string(d.Agent), words.Who(d.Address))
		if d.Agent == mail.User {
			name = "you"
		}
		if !slices.Contains(to, name) {
			to = append(to, name)
		}
	}
	from := words.Sender(l.Message)
	if l.From == mail.ToUser {
		from = "you"
	}
	text := isolated(from) + " → "
	switch {
	case len(to) == 0:
		text += isolated(words.Names(l.To))
	case len(to) > 2:
		text += strconv.Itoa(len(to)) + " agents"
	default:
		for i := range to {
			to[i] = isolated(to[i])
		}
		text += strings.Join(to, ", ")
	}
	if l.Several() {
		text += " · " + string(l.Room)
	}
	return text
}

// isolated wraps a name in bidirectional isolates, which the name itself must not end.
func isolated(name string) string {
	const first, pop = "\u2068", "\u2069"
	return first + strings.NewReplacer(first, "", pop, "").Replace(name) + pop
}

// pair is the mail from one agent to another in one of several rooms.
type pair struct {
	*page.View
	picture.Pair
}

// mostPairs limits the table to the busiest pairs.
const mostPairs = 100

func pairsOf(posts []page.Post) (out []pair) {
	byRoom := make(map[mail.RoomName][]page.Post)
	for _, post := range posts {
		byRoom[post.Room] = append(byRoom[post.Room], post)
	}
	for _, list := range byRoom {
		items := make([]mail.Item, len(list))
		for i := range list {
			items[i] = list[i].Item
		}
		for _, e := range picture.PairsOf(items) {
			out = append(out, pair{list[0].View, e})
		}
	}
	slices.SortFunc(out, func(a, b pair) int {
		return cmp.Or(b.Count-a.Count, cmp.Compare(a.Room, b.Room), mail.CompareNames(a.From, b.From),
			mail.CompareNames(a.To, b.To))
	})
	return out[:min(len(out), mostPairs)]
}

// RoomPairHref is the history of a pair in its room.
func (p *flowPage) RoomPairHref(e pair) string {
	return page.Query(p.pairHref(e.Base, e.Pair), "rooms", page.ScopeOne)
}
