package picture

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/width"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/words"
)

// Sizes of the pictures, in pixels.
const (
	axisWidth  = 64
	laneLeast  = 84
	laneMost   = 132
	rowLeast   = 24 // a row and what belongs to it do not touch the next
	rowMost    = 46
	breakRow   = 30
	dayRow     = 40
	chartWidth = 1064 // what a window of 1280 pixels has room for
	textLeast  = 360  // for subjects
	headHeight = 52
	mostLanes  = 40 // further agents share the last lane
)

// pause is the time after which the axis is broken: up to it, distance is time.
const pause = 12 * time.Minute

// Chart is the sequence diagram: agents are lanes, messages are rows of arrows, and time runs downwards.
type Chart struct {
	Width, Height int
	HeadHeight    int
	TextX         int
	Lanes         []lane
	Arrows        []Arrow
	Breaks        []timeBreak
}

// lane is an agent's line.
type lane struct {
	Name  mail.Name // "" for those who share the last lane
	Label string    // the name, as far as there is room for it
	X     int
}

// FaceX is the left side of the agent's picture.
func (l lane) FaceX() int { return l.X - l.FaceWidth()/2 }

// FaceWidth is how wide the letters in it need it to be.
func (l lane) FaceWidth() int { return max(22, int(textWidth(words.Initials(l.Name), 10))+6) }

// timeBreak is where time was left out.
type timeBreak struct {
	Y, Height int
	Text      string
	Day       bool // a new day begins
}

// TextX is where its words begin: those of a new day at the edge, others behind the axis.
func (b timeBreak) TextX() int {
	if b.Day {
		return 12
	}
	return axisWidth
}

// TextY is the line on which its words stand.
func (b timeBreak) TextY() int { return b.Y + b.Height/2 + 4 }

// Arrow is a message.
type Arrow struct {
	Item        mail.Item
	Y, X        int // where it begins
	Left, Right int // how far it reaches; both are X if it reaches nobody
	Loop        bool
	Tips        []tip
	Clock       string // "" in the minute of the arrow above
	Prefix      string // an address that is not an agent's
	Text        string
}

// Top is where its row begins.
func (a Arrow) Top() int { return a.Y - rowLeast/2 }

// TextY is the line on which its words stand.
func (a Arrow) TextY() int { return a.Y + 4 }

// tip is where an arrow ends.
type tip struct {
	X, Y   int
	Left   bool // it comes from the right
	Filled bool // it was read
	Lost   bool // it never will be
}

// Path is the line of the arrow.
func (a Arrow) Path() string {
	y := strconv.Itoa(a.Y)
	var b strings.Builder
	if a.Loop {
		b.WriteString("M" + strconv.Itoa(a.X) + " " + strconv.Itoa(a.Y-5) + "h14q5 0 5 5t-5 5h-7")
	}
	if a.Left < a.X || a.Right > a.X {
		b.WriteString("M" + strconv.Itoa(a.Left) + " " + y + "H" + strconv.Itoa(a.Right))
	}
	return b.String()
}

// Path is the head of the arrow, its point at the lane.
func (t tip) Path() string {
	back := "-7"
	if t.Left {
		back = "7"
	}
	if t.Lost {
		return "M" + strconv.Itoa(t.X-4) + " " + strconv.Itoa(t.Y-4) + "l8 8m0 -8l-8 8"
	}
	return "M" + strconv.Itoa(t.X) + " " + strconv.Itoa(t.Y) + "l" + back + " -4v8z"
}

// Glyph is the sign of a type, where the arrow begins: a message is known by it without its colour. What asks is
// filled, what answers is hollow.
func (a Arrow) Glyph() string { return Glyph(a.Item.Type, a.X, a.Y) }

// Glyph returns the outline of a type's shape at a place, as the path of an SVG.
func Glyph(t mail.Type, x, y int) string {
	return "M" + strconv.Itoa(x) + " " + strconv.Itoa(y) + Outlines[t.Rule().Shape]
}

// Outlines are the paths of the shapes, around a point.
var Outlines = map[mail.Shape]string{
	mail.Circle:   "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
	mail.Square:   "m-4 -4h8v8h-8z",
	mail.Diamond:  "m0 -5l5 5l-5 5l-5 -5z",
	mail.Cross:    "m-4 -4l8 8m0 -8l-8 8",
	mail.Dot:      "m-2 0a2 2 0 1 0 4 0a2 2 0 1 0 -4 0z",
	mail.Triangle: "m0 -5l5 8h-10z",
}

// NewChart lays messages out that are in the order of the journal; now says where we are and when.
func NewChart(items []mail.Item, now time.Time) Chart {
	c := Chart{HeadHeight: headHeight}
	lanes := c.lanes(items)
	c.TextX = c.Lanes[len(c.Lanes)-1].X + 28
	y := 4
	var before time.Time
	for i := range items {
		it := &items[i]
		at := it.Sent.Std().In(now.Location())
		if i > 0 && at.Before(before) {
			at = before // a foreign clock
		}
		y += c.space(y, before, at, now)
		a := Arrow{Item: *it, Y: y + rowLeast/2, X: lanes(it.From.Signer())}
		if i == 0 || at.Format("2006-01-02 15:04") != before.Format("2006-01-02 15:04") {
			a.Clock = at.Format("15:04")
		}
		a.aim(lanes)
		a.caption(chartWidth - c.TextX - 8)
		c.Arrows = append(c.Arrows, a)
		y += rowLeast
		before = at
	}
	c.Width, c.Height = max(chartWidth, c.TextX+textLeast), y+16
	return c
}

// lanes gives everybody a lane in the order of their first appearance, the user before all, and returns where the lane
// of a name is.
func (c *Chart) lanes(items []mail.Item) func(mail.Name) int {
	names := []mail.Name{mail.User}
	seen := map[mail.Name]bool{mail.User: true, "": true}
	add := func(n mail.Name) {
		if !seen[n] {
			seen[n] = true
			names = append(names, n)
		}
	}
	for i := range items {
		add(items[i].From.Signer())
		for _, d := range items[i].Deliveries {
			add(d.Agent)
		}
	}
	if len(names) > mostLanes {
		names = append(names[:mostLanes-1:mostLanes-1], "")
	}
	step := min(max((chartWidth-axisWidth-textLeast)/len(names), laneLeast), laneMost)
	at := make(map[mail.Name]int)
	for i, n := range names {
		l := lane{Name: n, Label: fit(string(n), step-4, 12), X: axisWidth + step/2 + i*step}
		if n == "" {
			l.Label = "others"
		}
		c.Lanes = append(c.Lanes, l)
		at[n] = l.X
	}
	last := c.Lanes[len(c.Lanes)-1].X
	return func(n mail.Name) int {
		if x, ok := at[n]; ok {
			return x
		}
		return last
	}
}

// space returns how much room the time between two messages takes, beyond that of the row. A long time is left out,
// and said.
func (c *Chart) space(y int, before, at, now time.Time) int {
	between := at.Sub(before)
	newDay := before.IsZero() || at.Format(time.DateOnly) != before.Format(time.DateOnly)
	if !newDay && between <= pause {
		return int((rowMost - rowLeast) * between / pause)
	}
	b := timeBreak{Y: y, Height: breakRow, Day: newDay}
	if newDay {
		b.Height, b.Text = dayRow, words.Date(now, mail.TimeOf(at))
	}
	if !before.IsZero() {
		if b.Text != "" {
			b.Text += " · "
		}
		b.Text += words.Lasting(between) + " later"
	}
	c.Breaks = append(c.Breaks, b)
	return b.Height
}

// aim gives the arrow a tip for each recipient. A message that nobody holds yet is a stub.
func (a *Arrow) aim(lanes func(mail.Name) int) {
	a.Left, a.Right = a.X, a.X
	for _, d := range a.Item.Deliveries {
		if d.Agent == "" {
			continue
		}
		t := tip{X: lanes(d.Agent), Y: a.Y, Filled: d.State == mail.Read || d.State == mail.Archived,
			Lost: d.State == mail.Dead || d.State == mail.Expired}
		switch {
		case t.X == a.X:
			a.Loop, t.X, t.Y, t.Left = true, a.X+3, a.Y+5, true
		case t.X < a.X:
			t.Left, t.X = true, t.X+2
			a.Left = min(a.Left, t.X+6)
		default:
			t.X -= 2
			a.Right = max(a.Right, t.X-6)
		}
		if i := slices.IndexFunc(a.Tips, func(o tip) bool { return o.X == t.X && o.Y == t.Y }); i >= 0 {
			a.Tips[i].Filled = a.Tips[i].Filled && t.Filled // in the lane of the others
			continue
		}
		a.Tips = append(a.Tips, t)
	}
	if len(a.Tips) == 0 {
		a.Right = a.X + 24
	}
}

// Held reports whether the arrow reaches nobody yet.
func (a Arrow) Held() bool { return len(a.Tips) == 0 }

// caption writes beside the arrow what it is about, in as much room as there is.
func (a *Arrow) caption(width int) {
	width = max(width, textLeast-8)
	for _, to := range a.Item.To {
		k, ds := to.Kind(), a.Item.Deliveries
		held := len(ds) == 1 && string(ds[0].Agent) == words.Who(to)
		if k != mail.ToAgent && k != mail.ToPerson && !held {
			a.Prefix = fit(words.Who(to), width/3, 12)
			width -= int(textWidth(a.Prefix, 12)) + 10
			break
		}
	}
	a.Text = fit(strings.Join(strings.Fields(words.Subject(&a.Item.Message)), " "), width, 12.5)
}

// fit cuts text so that it takes no more than width pixels in letters of that size.
func fit(text string, width int, size float64) string {
	if textWidth(text, size) <= float64(width) {
		return text
	}
	room := float64(width) - textWidth("…", size)
	for i, r := range text {
		if room -= runeWidth(r) * size; room < 0 {
			return strings.TrimSpace(text[:i]) + "…"
		}
	}
	return text
}

// textWidth estimates how wide text is, rather too wide than too narrow.
func textWidth(text string, size float64) float64 {
	w := 0.0
	for _, r := range text {
		w += runeWidth(r)
	}
	return w * size
}

// runeWidth is the width of a letter in parts of its height, as the fonts of the systems have it.
func runeWidth(r rune) float64 {
	switch kind := width.LookupRune(r).Kind(); {
	case unicode.Is(unicode.Mn, r):
		return 0
	case kind == width.EastAsianWide, kind == width.EastAsianFullwidth:
		return 1.15
	case strings.ContainsRune("iljtfI.,:;'|!()[] ", r):
		return .36
	case strings.ContainsRune("mwMW@%—…", r):
		return .98
	case unicode.IsUpper(r), r >= 0x2000:
		return .78
	}
	return .62
}
