//go:build linux

package proof

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"pennypost/internal/mail"
)

// checkEqual holds that all post offices have the same rooms: the same messages, with the same states for all
// recipients, and the same agents (P2, P3). items are the export of the first one.
func (w *world) checkEqual(rooms map[mail.RoomName][]mail.Item) {
	for _, o := range w.offices[1:] {
		for room, want := range rooms {
			got, err := w.export(w.patient(o), room)
			if err != nil {
				w.found.add("P2", "%s cannot be exported at %s: %v", room, o.name, err)
				continue
			}
			w.checkSame(o, room, want, got)
		}
	}
	want := w.roster(w.at(0))
	for _, o := range w.offices[1:] {
		if got := w.roster(o); !slices.Equal(got, want) {
			w.found.add("P3", "the agents of main are at %s\n    %s\nand at %s\n    %s", w.at(0).name,
				strings.Join(want, "\n    "), o.name, strings.Join(got, "\n    "))
		}
	}
}

// checkSame compares two post offices' exports of a room.
func (w *world) checkSame(o *office, room mail.RoomName, want, got []mail.Item) {
	if len(got) != len(want) {
		w.found.add("P3", "%s has %d messages at %s and %d at %s", room, len(want), w.at(0).name, len(got), o.name)
	}
	for i := range min(len(got), len(want)) {
		a, b := asJSON(want[i]), asJSON(got[i])
		if a != b {
			w.found.add("P3", "message %d of %s is at %s\n    %.600s\nand at %s\n    %.600s", i+1, room, w.at(0).name,
				a,
				o.name, b)
			return
		}
	}
}

func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// roster returns the agents of main, as a post office shows them.
func (w *world) roster(o *office) (all []string) {
	var list struct {
		Agents []struct {
			Name  mail.Name   `json:"name"`
			Roles []string    `json:"roles"`
			Tags  []string    `json:"tags"`
			State string      `json:"state"`
			Home  mail.Name   `json:"machine"`
			Task  *string     `json:"task"`
			Kids  []mail.Name `json:"children"`
		} `json:"agents"`
	}
	if err := w.patient(o).do(context.Background(), http.MethodGet, "/rooms/main/agents", nil, &list); err != nil {
		w.found.add("P2", "the agents at %s: %v", o.name, err)
	}
	for _, a := range list.Agents {
		all = append(all, asJSON(a))
	}
	slices.Sort(all)
	return all
}

// checkRings holds that no agent was woken twice at the same time while all post offices knew of each other (P8).
func (w *world) checkRings() {
	for _, n := range w.naps {
		rings := n.rings()
		for i := 1; i < len(rings); i++ {
			before, r := rings[i-1], rings[i]
			if !before.end.IsZero() && r.begin.Before(before.end) && w.storm.undisturbed(r.begin) {
				w.found.add("P8", "%s was woken by %s at %s, while %s was waking it since %s", n.agent, r.office,
					r.begin.Format(time.StampMilli), before.office, before.begin.Format(time.StampMilli))
			}
		}
	}
}
