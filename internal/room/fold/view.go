package fold

import (
	"slices"
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// Suggest names the agents, roles and tags that are spelled most like s, as the end of a message.
func (s *State) Suggest(word string) string {
	var all []string
	for m := range s.Agents() {
		all = append(all, string(m.Name))
		for _, role := range m.Roles {
			all = append(all, string(mail.RoleAddress(role)))
		}
		all = append(all, m.Tags...)
	}
	slices.Sort(all)
	near := policy.Nearest(word, slices.Compact(all), 3)
	switch {
	case len(all) == 0:
		return ". No agent is registered; register one with: pennypost agents register NAME"
	case len(near) == 0:
		return ". The roster is listed by: pennypost agents"
	}
	for i := range near {
		near[i] = mail.Slug(near[i])
	}
	return ". Did you mean " + strings.Join(near, ", ") + "?"
}
