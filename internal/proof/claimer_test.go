//go:build linux

package proof

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"pennypost/internal/base/process"
	"pennypost/internal/mail"
)

// The requests of a claimer, in place of a mark.
const (
	takes    mail.Mark = "takes"
	releases mail.Mark = "releases"
)

// claimNames is how many names claimers compete for.
const claimNames = 6

// claimer takes and releases names, in competition with others.
type claimer struct {
	*book
	agent mail.Name
	door  *door
	room  mail.RoomName
}

// run takes and releases until ctx ends.
func (c *claimer) run(ctx context.Context) {
	for ctx.Err() == nil {
		t := mail.Target{Name: fmt.Sprint("name-", rand.IntN(claimNames))}
		r, k := mail.ClaimRequest{Take: []mail.Target{t}, Process: process.Self()}, takes // whatever the clocks say
		if rand.IntN(3) == 0 {
			r, k = mail.ClaimRequest{Free: []mail.Target{t}}, releases
		}
		o := op{Kind: "claim", Call: c.now(), Room: c.room, Agent: c.agent, Message: mail.ID(t.Name), Mark: k}
		var out mail.Claimed
		err := c.door.do(context.WithoutCancel(ctx), http.MethodPost, "/rooms/"+string(c.room)+"/claims", r, &out)
		switch {
		case err != nil:
		case len(out.Held)+len(out.Freed) > 0:
			o.Result = "marked"
		case len(out.Clashes) > 0:
			o.Result = "not_yours"
		default:
			o.Result = "already"
		}
		c.add(o, err)
		pause(ctx, rand.N(80*time.Millisecond))
	}
}

// heldName is a name that one agent holds, or none.
func heldName(holder mail.Name, in asked, out heard) []mail.Name {
	after := in.agent
	if in.mark == releases {
		after = ""
	}
	mine, free := holder == in.agent, holder == ""
	switch {
	case in.mark == "":
		return only(out.taker == holder, holder)
	case out.result == "?" && (mine || free):
		return []mail.Name{holder, after}
	case out.result == "?":
		return []mail.Name{holder}
	case out.result == "marked":
		return only(mine || free && in.mark == takes, after)
	case out.result == "not_yours":
		return only(!mine && !free, holder)
	}
	return only(!mine, holder) // there was nothing to release
}

// checkClaims holds that some order explains all requests and answers about claims, with one holder for each name at
// a time (P15).
func (w *world) checkClaims() {
	h := newHistory(len(w.offices) > 1)
	for _, c := range w.claimers {
		for _, o := range c.all() {
			h.mark(string(o.Message), o)
		}
	}
	end := w.books[0].now()
	var list mail.ClaimList
	if err := w.admin.do(context.Background(), http.MethodGet, "/rooms/main/claims", nil, &list); err != nil {
		w.found.add("P15", "the claims of main: %v", err)
		return
	}
	holders := make(map[string]mail.Name)
	for _, held := range list.Claims {
		holders[held.Name] = held.Agent
	}
	for i := range claimNames {
		name := fmt.Sprint("name-", i)
		h.look(name, op{Call: end, Return: end + 1}, heard{taker: holders[name]})
	}
	undecided, n := h.check(&w.found, "P15", modelOf(heldName)), 0
	for _, ops := range h.of {
		n += len(ops)
	}
	w.logf("%d claims of %d names; %d undecided", n, len(h.of), undecided)
}
