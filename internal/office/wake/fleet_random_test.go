package wake

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// TestP8_RandomMachines makes random changes in a room served by two or three machines (mail, turns, sessions that
// move, machines that are killed or cut off and come back) and checks:
//
//   - P8: for an agent that is not working and has not looked at mail that should wake it, a ring is outstanding at
//     some machine, or the user was told;
//   - at most one ring is outstanding: while a recorded one is unanswered, no other machine rings;
//   - hours after all is well, all mail was rung for or the user was told.
func TestP8_RandomMachines(t *testing.T) {
	n := *seeds / 10 // each takes seconds with the race detector
	if testing.Short() {
		n = 2
	}
	for seed := range n {
		if *only >= 0 && seed != *only {
			continue
		}
		r := rand.New(rand.NewPCG(uint64(seed), 3))
		names := []mail.Machine{"a", "b", "c"}[:2+r.IntN(2)]
		doors := make(map[mail.Machine][]mail.Address)
		for _, m := range names {
			for _, a := range []mail.Address{"agent:b1", "role:builder", "orchestrator"} {
				if r.IntN(3) == 0 {
					doors[m] = append(doors[m], a)
				}
			}
		}
		inFleet(t, doors, func(w *fleet) {
			h := &fleetHistory{fleet: w, rand: r, moved: make(map[mail.Name]time.Time),
				session: make(map[mail.Name]string),
				state:   make(map[mail.Name]mail.State)}
			h.begin()
			for range 40 {
				h.step()
				if h.check(); t.Failed() {
					break
				}
			}
			if !t.Failed() {
				h.settle()
			}
			if t.Failed() {
				t.Logf("seed %d, doors %v:\n%s", seed, doors, strings.Join(h.log, "\n"))
			}
		}, names...)
		if t.Failed() {
			return
		}
	}
}

// fleetHistory is a random sequence of events.
type fleetHistory struct {
	*fleet
	rand    *rand.Rand
	log     []string
	n       int
	session map[mail.Name]string
	state   map[mail.Name]mail.State
	moved   map[mail.Name]time.Time // the last change after which an agent may be rung again
}

func (h *fleetHistory) agents() []mail.Name { return []mail.Name{"lead", "b1", "b2"} }

func (h *fleetHistory) begin() {
	up := h.machines[0]
	for _, n := range h.agents() {
		role := "builder"
		if n == "lead" {
			role = "orchestrator"
		}
		_, err := up.room.As(mail.User).Register(h.Context(), mail.Presence{Name: n, Roles: []string{role}})
		h.must(err)
		h.state[n] = mail.Idle
	}
	synctest.Wait()
}

// up returns a machine that is running and not cut off.
func (h *fleetHistory) up() *outpost {
	var all []*outpost
	for _, m := range h.machines {
		if m.link.gate() == nil {
			all = append(all, m)
		}
	}
	if len(all) == 0 {
		m := h.machines[0]
		h.returns(m)
		return m
	}
	return pick(h.rand, all...)
}

func (h *fleetHistory) returns(m *outpost) {
	if m.link.dead {
		m.restart()
	} else {
		m.link.restore()
	}
	h.pass(testLag + time.Second) // until its room has read the events that it missed
	h.note("%s is back", m.name)
}

func (h *fleetHistory) note(format string, args ...any) {
	h.log = append(h.log, time.Now().Format("15:04:05.000  ")+fmt.Sprintf(format, args...))
}

func (h *fleetHistory) step() {
	n := pick(h.rand, h.agents()...)
	m := h.up()
	home := h.sessions[n]
	there := home != nil && home.link.gate() == nil
	switch h.rand.IntN(14) {
	case 0, 1, 2, 3:
		to := pick(h.rand, "orchestrator", "role:builder", string(n), string(n))
		h.note("mail from %s to %s: %s", m.name, to, m.send(to).ID)
	case 4, 5:
		if h.session[n] == "" || there {
			h.n++
			h.session[n], h.state[n], h.moved[n] = fmt.Sprint("s", h.n), mail.Idle, time.Now()
			m.enter(n, h.session[n])
			h.note("%s has a session on %s", n, m.name)
		}
	case 6:
		if there {
			home.leave(n, h.session[n])
			h.session[n], h.state[n], h.moved[n] = "", mail.Gone, time.Now()
			h.note("%s has left", n)
		}
	case 7, 8:
		if there {
			h.turn(n, home)
		}
	case 9:
		if there {
			_, err := home.room.As(n).Mark(h.Context(), mail.Marking{All: true, Mark: mail.MarkRead})
			h.must(err)
			h.moved[n] = time.Now()
			h.note("%s has read all", n)
		}
	case 10:
		m.kill()
		h.note("%s is killed", m.name)
	case 11:
		m.mu.Lock()
		m.lost = append(m.lost, time.Now())
		m.mu.Unlock()
		m.link.sever(false)
		h.note("%s is cut off", m.name)
	default:
		for _, m := range h.machines {
			if m.link.gate() != nil && h.rand.IntN(2) == 0 {
				h.returns(m)
			}
		}
	}
	synctest.Wait()
	d := pick(h.rand, 0, 0, moment, 5*time.Second, time.Minute, 7*time.Minute)
	h.pass(d)
}

// turn makes an agent work for a while.
func (h *fleetHistory) turn(n mail.Name, home *outpost) {
	for _, s := range []mail.State{mail.Working, mail.Idle} {
		_, err := home.room.As(n).Register(h.Context(), mail.Presence{State: s, Session: h.session[n],
			Process: h.session[n]}) // the session may have lapsed
		h.must(err)
		h.pass(time.Second)
	}
	h.state[n], h.moved[n] = mail.Idle, time.Now()
	h.note("%s had a turn", n)
}

// check checks P8 after enough time to find out which machines are away.
func (h *fleetHistory) check() {
	h.Helper()
	h.pass(testAway + 5*time.Second) // until another machine keeps the room
	h.pass(awayPatience + 2*awayLook + silence)
	h.checkTwice()
	var m *outpost
	for _, o := range h.machines {
		if o.link.gate() == nil {
			m = o
		}
	}
	if m == nil {
		return // no machine can do anything
	}
	brief := reported(h.T, m.notices())
	for _, u := range m.room.Unwoken(func(mail.Name, []string) bool { return true }) {
		if !policy.MayRing(u.State) || u.Agent == "" {
			continue
		}
		for _, of := range u.Mail {
			if !brief[of.ID] && !h.isRung(m, &u) {
				_, keeper := m.room.Machines()
				h.Errorf("%s is %s and has %s unread: no ring is outstanding, and the user was not told; %s keeps "+
					"the room, "+
					"%s looks: %v %q", u.Agent, u.State, of.ID, keeper, m.name, u.Elsewhere, u.Away)
			}
		}
	}
}

// isRung reports whether some machine is to ring an agent, or none could.
func (h *fleetHistory) isRung(at *outpost, u *mail.Unwoken) bool {
	return !h.hasDoor(at, u) || slices.ContainsFunc(h.machines, func(m *outpost) bool {
		return m.link.gate() == nil && m.isRung(u.Agent)
	})
}

// isRung reports whether m has a ring in progress or scheduled.
func (m *outpost) isRung(n mail.Name) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rings[mail.AgentAddress(n)]
}

// look receives the result of each look of the ringer.
func (m *outpost) look(all map[mail.Address]*sleeper) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rings = make(map[mail.Address]bool)
	for a, s := range all {
		m.rings[a] = s.ringing || s.due != 0
	}
}

// checkTwice checks that no machine rings while another's recorded ring is outstanding.
func (h *fleetHistory) checkTwice() {
	h.mu.Lock()
	defer h.mu.Unlock()
	patience := policy.Ladder{}.WithDefaults().Patience(1)
	type rung struct {
		by   *outpost
		at   time.Time
		ring Ring
	}
	for _, n := range h.agents() {
		var all []rung
		for _, m := range h.machines {
			for _, b := range []*bell{m.bell, m.socket} {
				rings, when := b.all()
				for i := range rings {
					if rings[i].Agent == n {
						all = append(all, rung{m, when[i], rings[i]})
					}
				}
			}
		}
		slices.SortFunc(all, func(a, b rung) int { return a.at.Compare(b.at) })
		for i := 1; i < len(all); i++ {
			one, two := all[i-1], all[i]
			lost := slices.ContainsFunc(one.by.lost, func(at time.Time) bool {
				return at.Before(one.at.Add(testCut+time.Second)) && !at.Before(one.at.Add(-testCut-time.Second))
			})
			again := h.moved[n].After(one.at) // only the last change is known
			if one.by != two.by && two.at.Sub(one.at) < patience-time.Second && !lost && !again {
				h.Errorf("%s was rung by %s at %s and by %s at %s", n, one.by.name, one.at.Format("15:04:05.000"),
					two.by.name,
					two.at.Format("15:04:05.000"))
			}
		}
	}
}

// settle keeps all machines up and all agents idle for hours.
func (h *fleetHistory) settle() {
	for _, m := range h.machines {
		if m.link.gate() != nil {
			h.returns(m)
		}
	}
	h.note("all is well")
	h.pass(8 * time.Hour)
	h.checkTwice()
	m := h.machines[0]
	brief := reported(h.T, m.notices())
	told := make(map[mail.ID]bool)
	for _, o := range h.machines {
		for _, b := range []*bell{o.bell, o.socket} {
			rings, _ := b.all()
			for _, r := range rings {
				for _, id := range r.Messages {
					told[id] = true
				}
			}
		}
	}
	for _, u := range m.room.Unwoken(func(mail.Name, []string) bool { return true }) {
		for _, of := range u.Mail {
			if u.Agent != "" && !brief[of.ID] && !told[of.ID] && h.hasDoor(m, &u) {
				h.Errorf("in the end %s has %s unread, for which no door was rung and of which the user was not told",
					u.Agent,
					of.ID)
			}
		}
	}
}

func (h *fleetHistory) hasDoor(at *outpost, u *mail.Unwoken) bool {
	a, _, err := mail.OneAgent(h.Context(), at.room.As(mail.User), u.Agent)
	h.must(err)
	return a.Session != "" || // it may have lapsed while its machine was cut off, and the agent have been active since
		slices.ContainsFunc(h.machines, func(m *outpost) bool {
			return m.doors.configured(u.Agent, u.Roles) != nil
		})
}
