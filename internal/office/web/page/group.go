package page

// Rows is how many rows a list has before it asks for more.
const Rows = 50

// Group is the rows of a list that stand under one heading.
type Group[R any] struct {
	Name string // "": the heading stands above, by what the page has already
	Rows []R
}

// Grouped puts a row into the last of groups or, if that has another name, into a new one.
func Grouped[R any](groups []Group[R], name string, row R) []Group[R] {
	if n := len(groups); n == 0 || groups[n-1].Name != name {
		groups = append(groups, Group[R]{Name: name})
	}
	last := &groups[len(groups)-1]
	last.Rows = append(last.Rows, row)
	return groups
}

// Continued returns the name of the last of groups. It takes that of the first from it if the page has the heading
// already, because the part of the list before ended with it.
func Continued[R any](groups []Group[R], begun string) (last string) {
	if len(groups) == 0 {
		return begun
	}
	last = groups[len(groups)-1].Name
	if groups[0].Name == begun {
		groups[0].Name = ""
	}
	return last
}

// Again is the address of what the page shows first of a list, for its refreshing. What was loaded behind that stays
// as it is. A list that is there to its end, so that there is no more, has no last place: what comes in late may stand
// below it.
func (v *View) Again(list, more, last string) string {
	if more == "" {
		last = v.R.URL.Query().Get("down")
	}
	return Query(list, "down", last)
}
