package mailroom

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/room/fold"
)

// Agents implements mail.Registrar.
func (v *view) Agents(ctx context.Context, q mail.RosterQuery) (mail.AgentList, error) {
	n := mail.MaxLimit
	if q.Limit != 0 {
		var err error
		if n, err = limit(q.Limit); err != nil {
			return mail.AgentList{}, err
		}
	}
	for _, st := range q.States {
		if _, err := mail.ParseState(string(st)); err != nil {
			return mail.AgentList{}, err
		}
	}
	v.touch(ctx)
	out := mail.AgentList{Agents: []mail.Agent{}, States: make(map[mail.State]int)}
	v.read(func(s *fold.State, now mail.Time) {
		needle := strings.ToLower(q.Search)
		among := s.Among(q)
		if q.Latest {
			q.After = ""
			among = slices.Clone(among)
			slices.SortStableFunc(among, func(a, b *fold.Member) int {
				return cmp.Compare(b.StateSince(), a.StateSince())
			})
		}
		for _, m := range among {
			if !m.Fits(q, needle) {
				continue
			}
			out.States[m.Standing()]++
			if len(q.States) > 0 && !slices.Contains(q.States, m.Standing()) {
				continue
			}
			out.Total++
			if mail.CompareNames(m.Name, q.After) <= 0 {
				continue
			}
			if len(out.Agents) == n {
				if out.More = true; !q.Latest {
					out.Next = out.Agents[n-1].Name
				}
				continue
			}
			out.Agents = append(out.Agents, v.show(s, m, now))
		}
	})
	return out, nil
}
