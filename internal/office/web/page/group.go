package page

// Rows is how many rows a list shows before it loads more.
const Rows = 50

// Group is the rows of a list under one heading.
type Group[R any] struct {
	Name string // "": the page already has the heading
	Rows []R
}

// Grouped appends a row to the last group or, if that has another name, to a new one.
func Grouped[R any](groups []Group[R], name string, row R) []Group[R] {
	if n := len(groups); n == 0 || groups[n-1].Name != name {
		groups = append(groups, Group[R]{Name: name})
	}
	last := &groups[len(groups)-1]
	last.Rows = append(last.Rows, row)
	return groups
}

// Continued returns the name of the last group. It clears the first group's name if the page already has that
// heading, because the previous part of the list ended with it.
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

// Again is the address of the list's first rows, used to refresh them without those loaded later. A list shown to its
// end has no last position, since late arrivals may sort below it.
func (v *View) Again(list, more, last string) string {
	if more == "" {
		last = v.R.URL.Query().Get("down")
	}
	return Query(list, "down", last)
}
