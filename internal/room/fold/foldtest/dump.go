package foldtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/room/fold"
)

// Doorless are the ways of a machine that cannot wake anyone.
func Doorless(here mail.Machine) *fold.Ways {
	return &fold.Ways{
		Here:   here,
		Door:   func(mail.Name, []string) string { return "" },
		PutOff: func(mail.Name, []string, bool, mail.Time) mail.Time { return 0 },
		Tells:  func(bool, bool, mail.Time) (string, mail.Time) { return "", 0 },
		Away:   func(mail.Machine) bool { return false },
	}
}

// Dump writes down everything visible in a state.
func Dump(s *fold.State, now mail.Time) []string {
	out := []string{fmt.Sprint("seq ", s.Seq, " last ", s.Last), fmt.Sprint("rotation ", s.Rotation),
		fmt.Sprint("erasing ", slices.Sorted(maps.Keys(s.Erasing)))}
	if s.Shared() {
		out = append(out, fmt.Sprint("machines ", s.Machines, " upkeep ", s.Upkeep, s.UpkeepAt),
			fmt.Sprint("rules ", s.Rules))
		for _, id := range slices.Sorted(maps.Keys(s.Erasing)) {
			out = append(out, fmt.Sprint("pending ", id, s.Pending(id)))
		}
	}
	first := len(out)
	ids := func(l fold.List, m *fold.Member) (out []string) {
		for _, r := range l {
			if s.Visible(r, m, now) || r.SettledBy(m) {
				out = append(out, string(r.Msg.ID))
			}
		}
		return out
	}
	for name, m := range s.Members {
		if m.Registered == 0 && len(m.All) == 0 && !m.IsUser() {
			continue
		}
		a := m.AgentRecord
		if m.IsUser() {
			a.Door, a.DoorAt = "", 0
		}
		out = append(out, fmt.Sprintf("member %s: %+v unread %v told %v all %v", name, a, ids(m.Unread.List, m),
			ids(m.Told, m), ids(m.All, m)))
		for _, r := range m.Unread.List {
			if s.Visible(r, m, now) && m.Session != "" {
				out = append(out, fmt.Sprint("member ", name, " knows ", r.Msg.ID, r.ToldIn(m), r.HandedIn(m)))
			}
		}
	}
	slices.Sort(out[first:])
	out = append(out, fmt.Sprint("bridges ", s.Bridges), fmt.Sprint("workspaces ", s.Workspaces))
	m0 := s.Seen(Doorless("m0")) // whichever machine looks
	for _, r := range s.Order {
		out = append(out, fmt.Sprintf("message %d %+v: %+v", r.Seq, r.Msg.Message(), m0.Deliveries(r, now)))
		if r.Settled != nil {
			out = append(out, fmt.Sprintf("settled %+v", *r.Settled))
		}
		if until := r.SnoozedBy(s.Members[mail.User], now); until != 0 {
			out = append(out, fmt.Sprint("snoozed until ", until))
		}
	}
	for _, c := range s.ToSend() {
		out = append(out, fmt.Sprintf("to be sent %+v", *c))
	}
	for _, r := range s.Open {
		out = append(out, "open "+string(r.Msg.ID))
	}
	for _, id := range slices.Sorted(maps.Keys(s.Leaving)) {
		out = append(out, "leaving "+string(id))
	}
	var held []string
	for word, lists := range map[string]map[string]fold.List{"": s.Held, "offered ": s.Offered} {
		for role, l := range lists {
			for _, r := range l {
				held = append(held, word+role+" "+string(r.Msg.ID))
			}
		}
	}
	slices.Sort(held)
	for _, program := range slices.Sorted(maps.Keys(s.Programs)) {
		seats := slices.SortedFunc(slices.Values(s.Programs[program]), fold.ByName)
		for _, m := range seats {
			out = append(out, fmt.Sprint("in ", program, ": ", m.Name))
		}
	}
	var spent []mail.SpentKey
	for _, k := range s.Spent.All() {
		spent = append(spent, k.SpentKey)
	}
	return append(out, "held "+strings.Join(held, ", "), fmt.Sprint("spent keys ", spent))
}
