package daemon

import (
	"pennypost/internal/office/dialect"
	"pennypost/internal/office/dialect/agenties"
	"pennypost/internal/office/dialect/claudeteams"
	"pennypost/internal/office/dialect/haak"
	"pennypost/internal/office/dialect/openalice"
	"pennypost/internal/office/dialect/superportia"
)

// Dialects returns the foreign protocols that this post office speaks.
func Dialects() []dialect.Dialect {
	return []dialect.Dialect{agenties.Dialect(), haak.Dialect(), superportia.Dialect(), openalice.Dialect(),
		claudeteams.Dialect()}
}

// dialectTools returns the names of all tools of the dialects.
func dialectTools() []string {
	var names []string
	for _, d := range Dialects() {
		for _, e := range d.Endpoints {
			for _, t := range e.Tools {
				names = append(names, t.Name)
			}
		}
	}
	return names
}
