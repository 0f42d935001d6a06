package wake

import (
	"testing"
	"time"

	"pennypost/internal/mail"
)

// TestP8_Machines: only the machine with an agent's session rings it; if that machine is away, another one with a door
// for the agent takes over where it stopped.
func TestP8_Machines(t *testing.T) {
	builder := mail.AgentAddress("builder")
	doors := map[mail.Machine][]mail.Address{"b": {builder}}
	inFleet(t, doors, func(w *fleet) {
		a, b, c := w.machines[0], w.machines[1], w.machines[2]
		a.enter("builder", "s1")
		sent := b.send("builder")
		if d := sent.Recipients[0]; d.Wake != "on a" || d.Machine != "a" {
			t.Errorf("the sender on b is told %+v, want that it is woken on a", d)
		}
		w.rang("mail from b", 0, 1, 0, 0, 0, 0)
		a.link.sever(false)
		w.pass(5 * time.Second)
		w.rang("cut off for a moment", 0, 1, 0, 0, 0, 0)
		if d := b.send("builder").Recipients[0]; d.Wake != "on a" {
			t.Errorf("the sender on b is told %+v, want that it is woken on a", d)
		}
		w.pass(10 * time.Second)
		if d := c.send("builder").Recipients[0]; d.Wake != "on b" || d.Machine != "b" {
			t.Errorf("the sender on c is told %+v, want that it is woken on b", d)
		}
		w.rang("away, and rung by a a moment ago", 0, 1, 0, 0, 0, 0)
		w.pass(2 * time.Minute)
		w.rang("away, when a would have rung again", 0, 1, 1, 0, 0, 0)
		a.link.restore()
		w.pass(testBack + 3*time.Second)
		w.rang("back", 0, 1, 1, 0, 0, 0)
		w.pass(4 * time.Minute)
		w.rang("back, and b has rung in vain", 0, 2, 1, 0, 0, 0)
		if n := b.notices(); len(n) > 0 {
			t.Errorf("the user was told %q", n[0].Subject)
		}
	}, "a", "b", "c")
}

// TestP8_MachineAway: if no other machine has a door, the one machine that keeps the room tells the user, once.
func TestP8_MachineAway(t *testing.T) {
	inFleet(t, nil, func(w *fleet) {
		a, c := w.machines[0], w.machines[2]
		c.enter("builder", "s1")
		c.kill()
		w.pass(15 * time.Second)
		d := a.send("builder").Recipients[0]
		if d.Wake != mail.WakeAway || d.Machine != "c" {
			t.Errorf("the sender is told %+v, want that c is away", d)
		}
		w.pass(5 * time.Second)
		if n := a.notices(); len(n) != 0 {
			t.Errorf("the user was told at once: %q", n[0].Body)
		}
		w.pass(30 * time.Second)
		n := a.notices()
		if len(n) != 1 {
			t.Fatalf("the user was told %d times, want once", len(n))
		}
		if n[0].Subject != "builder cannot be woken" {
			t.Errorf("the user was told %q", n[0].Subject)
		}
		c.restart()
		w.pass(30 * time.Second)
		w.rang("c is back", 0, 0, 0, 0, 0, 1)
		if n := a.notices(); len(n) != 1 {
			t.Errorf("the user was told %d times, want once", len(n))
		}
	}, "a", "b", "c")
}

// TestP8_DoorsOnSeveralMachines: an agent without a session is rung by the machine that keeps the room, if that has a
// door for it, otherwise by the first one that has.
func TestP8_DoorsOnSeveralMachines(t *testing.T) {
	doors := map[mail.Machine][]mail.Address{"b": {"role:builder"}, "c": {"role:builder"}}
	inFleet(t, doors, func(w *fleet) {
		a, b, c := w.machines[0], w.machines[1], w.machines[2]
		a.enter("bob", "s1", "builder")
		a.leave("bob", "s1")
		a.send("role:builder")
		w.rang("kept by a", 0, 0, 1, 0, 0, 0)
		a.end() // then b or c keeps the room
		w.pass(3 * time.Second)
		keeper, other := b, c
		if _, name := b.room.Machines(); name == "c" {
			keeper, other = c, b
		}
		w.pass(3 * time.Minute)
		if n := b.bell.rung() + c.bell.rung(); n != 2 {
			t.Errorf("three minutes later builders were rung %d times, want twice", n)
		}
		before := other.bell.rung()
		keeper.kill()
		w.pass(5 * time.Minute)
		if n := other.bell.rung() - before; n != 1 {
			t.Errorf("with the keeper gone, %s was rung %d times, want once", other.name, n)
		}
		a.start()
		keeper.restart()
	}, "a", "b", "c")
}

// TestOneMachineTells: of the machines that can notify the person of mail, only one does, or another while it is away.
func TestOneMachineTells(t *testing.T) {
	inFleet(t, nil, func(w *fleet) {
		for _, m := range w.machines[1:] {
			w.must(m.room.Announce(w.Context(), []mail.Address{mail.ToUser}))
		}
		w.pass(time.Second)
		tells := func() (all []mail.Machine) {
			for _, m := range w.machines {
				if !m.link.dead && m.room.Tells() {
					all = append(all, m.name)
				}
			}
			return all
		}
		before := tells()
		if len(before) != 1 || before[0] == "a" {
			t.Fatalf("%q tell the person, want one that can", before)
		}
		teller := w.machines[1]
		if before[0] == "c" {
			teller = w.machines[2]
		}
		teller.kill()
		w.pass(testAway)
		if after := tells(); len(after) != 1 || after[0] == "a" || after[0] == before[0] {
			t.Errorf("with %q gone %q tell the person, want the other one that can", before, after)
		}
	}, "a", "b", "c")
}
