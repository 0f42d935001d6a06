package picture

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"pennypost/internal/mail"
)

// Sizes of the picture in pixels. The stylesheet repeats the first three.
const (
	step      = 31 // between columns
	gap       = 9  // added between rooms
	RowHeight = 25
	middle    = step / 2
	// MostColumns is how many agents have their own column. The others share one per room.
	MostColumns = 22
)

// Letter is a message and its room.
type Letter struct {
	Room mail.RoomName
	mail.Item
}

// Chart is a picture of letters: a column for each agent, by room, and a row for each letter.
type Chart struct {
	Width int
	Rooms []Heads
	Lines string   // the path of the column lines in one row
	Rows  []string // the path of each letter
}

// Heads are the columns of one room.
type Heads struct {
	Room    mail.RoomName
	Columns []Column
}

// Column is an agent, or the agents of a room that share a column.
type Column struct {
	Name  mail.Name // "" if shared
	Share int       // how many agents share it
	X     int
}

// who is an agent in a room. The user's room is "".
type who struct {
	room mail.RoomName
	name mail.Name
}

func whoOf(room mail.RoomName, n mail.Name) who {
	if n == mail.User {
		room = ""
	}
	return who{room, n}
}

// NewChart draws letters in the given order.
func NewChart(letters []Letter) Chart {
	c := Chart{Rows: make([]string, len(letters))}
	at := c.columns(letters)
	var lines strings.Builder
	for _, x := range slices.Compact(slices.Sorted(columnsAt(c.Rooms))) {
		lines.WriteString("M" + strconv.Itoa(x) + " 0v" + strconv.Itoa(RowHeight))
	}
	c.Lines = lines.String()
	for i := range letters {
		l := &letters[i]
		from := at(whoOf(l.Room, l.From.Signer()))
		var to []int
		for _, d := range l.Deliveries {
			if d.Agent != "" {
				to = append(to, at(whoOf(l.Room, d.Agent)))
			}
		}
		c.Rows[i] = path(from, to)
	}
	return c
}

// columns places the user and then the agents of each room, and returns a function that finds their positions.
func (c *Chart) columns(letters []Letter) func(who) int {
	mailOf := make(map[who]int)
	for i := range letters {
		l := &letters[i]
		mailOf[whoOf(l.Room, l.From.Signer())]++
		for _, d := range l.Deliveries {
			if d.Agent != "" {
				mailOf[whoOf(l.Room, d.Agent)]++
			}
		}
	}
	delete(mailOf, whoOf("", mail.User))
	all := make([]who, 0, len(mailOf))
	for w := range mailOf {
		all = append(all, w)
	}
	byName := func(a, b who) int { return cmp.Or(cmp.Compare(a.room, b.room), mail.CompareNames(a.name, b.name)) }
	slices.SortFunc(all, func(a, b who) int { return cmp.Or(mailOf[b]-mailOf[a], byName(a, b)) })
	shown := all[:min(MostColumns, len(all))]
	share := make(map[mail.RoomName]int)
	for _, w := range all[len(shown):] {
		share[w.room]++
	}
	for room := range share {
		shown = append(slices.Clip(shown), who{room, ""})
	}
	slices.SortFunc(shown, func(a, b who) int {
		return cmp.Or(cmp.Compare(a.room, b.room), last(a)-last(b), byName(a, b))
	})
	x := middle
	places := map[who]int{whoOf("", mail.User): x}
	c.Rooms = []Heads{{Columns: []Column{{Name: mail.User, X: x}}}}
	for _, w := range shown {
		x += step
		if heads := &c.Rooms[len(c.Rooms)-1]; heads.Room != w.room || len(c.Rooms) == 1 {
			x += gap
			c.Rooms = append(c.Rooms, Heads{Room: w.room})
		}
		heads := &c.Rooms[len(c.Rooms)-1]
		heads.Columns = append(heads.Columns, Column{Name: w.name, X: x})
		if places[w] = x; w.name == "" {
			heads.Columns[len(heads.Columns)-1].Share = share[w.room]
		}
	}
	c.Width = x + step - middle
	return func(w who) int {
		if x, ok := places[w]; ok {
			return x
		}
		return places[who{w.room, ""}]
	}
}

// last is 1 for the shared column, which is the last of its room.
func last(w who) int {
	if w.name == "" {
		return 1
	}
	return 0
}

func columnsAt(rooms []Heads) func(func(int) bool) {
	return func(yield func(int) bool) {
		for _, h := range rooms {
			for _, c := range h.Columns {
				if !yield(c.X) {
					return
				}
			}
		}
	}
}

// path draws a letter: a dot at the sender, a line, and an arrowhead at each reader. The path is filled, so one
// element is enough, and its parts have the same orientation, so that overlaps do not cancel. A letter without a
// reader is a dot.
func path(from int, to []int) string {
	const y = RowHeight / 2
	var b strings.Builder
	move := func(x, y int, draw string) { b.WriteString("M" + strconv.Itoa(x) + " " + strconv.Itoa(y) + draw) }
	move(from-3, y, "a3 3 0 1 1 6 0a3 3 0 1 1 -6 0z")
	if len(to) == 0 {
		return b.String()
	}
	left, right := min(from, slices.Min(to)), max(from, slices.Max(to))
	if left < right {
		long := strconv.Itoa(right - left)
		move(left, y-1, ".25h"+long+"v1.5h-"+long+"z")
	}
	slices.Sort(to)
	for _, x := range slices.Compact(to) {
		switch {
		case x < from:
			move(x, y, "l7 -4v8z")
		case x > from:
			move(x, y, "l-7 4v-8z")
		default: // to oneself
			move(x, y, "m-5 -5h10v2h-10z")
		}
	}
	return b.String()
}
