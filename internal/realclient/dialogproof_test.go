package realclient

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/realclient/model"
)

var (
	dialogs    = flag.Int("dialogs", 0, "how many dialogs of each client TestDialogs has; 0: it skips")
	dialogSeed = flag.Uint64("dialogs.seed", 0, "seed of TestDialogs; 0: a new one")
)

// asking describes a client's dialog about a command, and who may answer.
type asking struct {
	open    func(l *lab) *terminal   // a session that asks; nil: as in the other scenarios
	tool    func(name string) string // the directive that makes a file; nil: a command
	shows   string                   // on the screen during the dialog
	yes, no []string                 // keys that answer there
	desk    bool                     // the desk may answer
	// notes says that it records its dialogs itself, so that a post office that was away learns of them.
	notes bool
	// doubt says that it does not report its person's refusal.
	doubt bool
}

// opens opens a session with exactly these arguments.
func opens(args ...string) func(*lab) *terminal {
	return func(l *lab) *terminal {
		w := l.open(append([]string{l.version.program}, args...)...)
		w.waitReady()
		return w
	}
}

// TestDialogs makes each client show dialogs, which are answered in random order of who is first: the desk, the
// person at the client, no one for a while, Esc, the end of the client or of the post office. ./test proof --dialogs
// runs it.
func TestDialogs(t *testing.T) {
	if *dialogs == 0 {
		t.Skip("without -dialogs")
	}
	seed := *dialogSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-dialogs %d -dialogs.seed %d", *dialogs, seed)
	for _, c := range clients() {
		t.Run(c.name, func(t *testing.T) {
			if c.asking == nil {
				t.Skipf("%s is not tried: docs/clients.md says why", c.title)
			}
			v := wanted(t, c.name)
			p := &dialogProof{lab: newLab(t, c, v), how: c.asking, rand: rand.New(rand.NewPCG(seed, 0)),
				counts: map[string]int{}}
			p.run(*dialogs)
			p.report()
		})
	}
}

// dialogProof is one client's run.
type dialogProof struct {
	*lab
	how    *asking
	rand   *rand.Rand
	window *terminal
	counts map[string]int

	toDesk, toTool, toGo []time.Duration
}

// fate is one possible outcome of a dialog.
type fate struct {
	name string
	runs bool // the command has run then
	do   func(p *dialogProof, c mail.Card)
	desk bool // the desk must be able to answer
	away bool // the post office is away at the end
}

func fates() []fate {
	return []fate{
		{"desk allows", true, (*dialogProof).deskAllows, true, false},
		{"desk denies", false, (*dialogProof).deskDenies, true, false},
		{"allowed there", true, (*dialogProof).allowedThere, false, false},
		{"refused there", false, (*dialogProof).refusedThere, false, false},
		{"both at once", true, (*dialogProof).both, true, false},
		{"nobody for a while", true, (*dialogProof).nobody, false, false},
		{"office killed", true, (*dialogProof).officeKilled, false, true},
		{"office stopped and back", true, (*dialogProof).officeStopped, false, false},
		{"office frozen", true, (*dialogProof).officeFrozen, false, true},
		{"client killed", false, (*dialogProof).clientKilled, false, false},
	}
}

func (p *dialogProof) run(n int) {
	p.install()
	p.begin()
	for i := range n {
		all := slices.DeleteFunc(fates(), func(f fate) bool { return f.desk && !p.how.desk })
		f := all[p.rand.IntN(len(all))]
		if i >= 3*len(all) && strings.Contains(f.name, "killed") && p.rand.IntN(3) > 0 {
			f = all[0] // ends take long, so only some
		}
		p.one(i, f)
		if p.t.Failed() {
			p.t.Fatalf("dialog %d: %s", i, f.name)
		}
	}
}

// begin opens a session.
func (p *dialogProof) begin() {
	p.window = p.how.open(p.lab)
}

// one opens one dialog, and applies a fate to it.
func (p *dialogProof) one(i int, f fate) {
	name := fmt.Sprintf("f%03d", i)
	tool := "[[sh touch " + name + "]]"
	if p.how.tool != nil {
		tool = p.how.tool(name)
	}
	p.window.prompt("hello " + name + " " + tool + " [[say over-" + name + "]]")
	p.window.sees(p.how.shows)
	drawn := time.Now()
	c := p.cardToAnswer("touch " + name)
	p.toDesk = append(p.toDesk, max(0, p.opened(c.ID).Sub(drawn)))
	p.until("the agent is asking", func() bool { return p.state(c.Agent) == mail.Asking })
	f.do(p, c)
	p.counts[f.name]++
	if f.runs {
		p.runs(name)
	}
	if f.away && !p.how.notes {
		p.rested()
		p.window.prompt("hello later " + name + " [[say later-" + name + "]]") // this proves that it is over
		p.until("the model has answered", func() bool { return p.said("later-" + name) })
	}
	began := time.Now()
	p.until("the dialog is off the desk", p.nothingStands)
	if f.runs || !p.how.doubt { // otherwise nothing proves that it is over
		p.toGo = append(p.toGo, time.Since(began))
	}
	if f.runs {
		p.until("the turn goes on", func() bool { return p.said("over-" + name) })
	}
	p.rested()
	if p.exists(name) != f.runs {
		p.t.Errorf("%s: that the command has run is %t", f.name, !f.runs)
	}
	if n := p.outcomesOf(c.ID); n > 1 {
		p.t.Errorf("%s: the dialog has ended %d times", f.name, n)
	}
}

// said reports whether the model has said a text.
func (p *dialogProof) said(text string) bool {
	return slices.ContainsFunc(p.model.Requests(), func(r model.Request) bool {
		return strings.Contains(r.Answer, "say "+text)
	})
}

// cardToAnswer returns the card of a dialog, once it can be answered from the desk if the client allows that.
func (p *dialogProof) cardToAnswer(text string) (c mail.Card) {
	p.until("the card can be answered", func() bool {
		c = p.card(text)
		return c.Here || !p.how.desk
	})
	return c
}

// nothingStands reports whether the desk has no dialog except those in doubt.
func (p *dialogProof) nothingStands() bool {
	return !slices.ContainsFunc(p.cards(), func(c mail.Card) bool { return !c.Doubt || !p.how.doubt })
}

// rested waits until the client takes a prompt.
func (p *dialogProof) rested() {
	p.until("the client is ready", func() bool {
		screen := p.window.screen()
		return p.client.ready.MatchString(screen) && !strings.Contains(screen, p.how.shows) &&
			p.state(p.agent) != mail.Working
	})
}

// opened is when a dialog opened, according to the journal.
func (p *dialogProof) opened(id mail.ID) time.Time {
	for _, e := range p.events() {
		if e.Dialog != nil && e.Dialog.ID == id {
			return e.At.Std()
		}
	}
	return time.Time{}
}

// outcomesOf counts the ends of a dialog in the journal.
func (p *dialogProof) outcomesOf(id mail.ID) (n int) {
	for _, e := range p.events() {
		if e.Dialog != nil && e.Dialog.ID == id && e.Dialog.Outcome != "" {
			n++
		}
	}
	return n
}

// there answers at the client. Clients lose some keys that arrive while they draw.
func (p *dialogProof) there(keys []string) {
	p.t.Helper()
	looks := 0
	p.until("the dialog is answered there", func() bool {
		if !strings.Contains(p.window.screen(), p.how.shows) {
			return true
		}
		if looks%30 == 0 {
			p.window.types(keys...)
		}
		looks++
		return false
	})
}

func (p *dialogProof) deskAllows(c mail.Card) {
	began := time.Now()
	p.answers(c, "allow")
	p.runs(strings.TrimPrefix(c.Text, "touch "))
	p.toTool = append(p.toTool, time.Since(began))
}

func (p *dialogProof) deskDenies(c mail.Card) {
	p.answers(c, "deny")
}

func (p *dialogProof) allowedThere(mail.Card) {
	time.Sleep(time.Duration(p.rand.IntN(1500)) * time.Millisecond)
	p.there(p.how.yes)
}

func (p *dialogProof) refusedThere(mail.Card) {
	time.Sleep(time.Duration(p.rand.IntN(1500)) * time.Millisecond)
	p.there(p.how.no)
}

// both makes the desk and the person allow it at the same moment.
func (p *dialogProof) both(c mail.Card) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		time.Sleep(time.Duration(p.rand.IntN(150)) * time.Millisecond)
		_, _ = p.try("answer", string(c.ID), "allow") // either may be first
	}()
	time.Sleep(time.Duration(p.rand.IntN(150)) * time.Millisecond)
	p.there(p.how.yes)
	<-done
}

func (p *dialogProof) nobody(c mail.Card) {
	time.Sleep(8 * time.Second) // longer than any client waits before it notifies someone
	if list := p.standing(); len(list) != 1 || list[0].ID != c.ID {
		p.t.Errorf("after a while on the desk: %+v", list)
	}
	p.window.sees(p.how.shows)
	p.there(p.how.yes)
}

func (p *dialogProof) officeKilled(mail.Card) {
	p.must(p.office.Process.Kill())
	_ = p.office.Wait() // it was killed
	p.office = nil
	p.there(p.how.yes)
	time.Sleep(time.Second)
	p.startOffice()
}

func (p *dialogProof) officeStopped(c mail.Card) {
	p.stopOffice()
	p.startOffice()
	if list := p.standing(); len(list) != 1 || list[0].ID != c.ID {
		p.t.Errorf("after a start on the desk: %+v", list)
	}
	p.there(p.how.yes)
}

func (p *dialogProof) officeFrozen(mail.Card) {
	p.must(p.office.Process.Signal(sigStop))
	time.Sleep(time.Duration(p.rand.IntN(5000)) * time.Millisecond)
	p.there(p.how.yes)
	time.Sleep(time.Duration(p.rand.IntN(1500)) * time.Millisecond)
	p.must(p.office.Process.Signal(sigCont))
}

func (p *dialogProof) clientKilled(mail.Card) {
	p.kill()
	p.until("no dialog is on the desk", p.nothingStands)
	p.begin()
}

// standing are the cards except those in doubt of earlier dialogs.
func (p *dialogProof) standing() []mail.Card {
	list := p.cards()
	return list[max(0, len(list)-1):]
}

// report logs the measurements.
func (p *dialogProof) report() {
	total := 0
	for _, n := range p.counts {
		total += n
	}
	p.t.Logf("%s %s: %d dialogs: %v", p.client.title, p.version.version, total, p.counts)
	for _, m := range []struct {
		what string
		all  []time.Duration
		most time.Duration
	}{
		{"on the desk after it was drawn", p.toDesk, time.Second}, {"the desk's answer to the tool", p.toTool, 0},
		{"off the desk after the tool", p.toGo, settlesIn},
	} {
		if len(m.all) == 0 {
			continue
		}
		slices.Sort(m.all)
		p.t.Logf("%s: median %v, longest %v", m.what, m.all[len(m.all)/2], m.all[len(m.all)-1])
		if m.most > 0 && m.all[len(m.all)-1] > m.most {
			p.t.Errorf("%s: %v, may be %v", m.what, m.all[len(m.all)-1], m.most)
		}
	}
	if len(p.toTool) > 0 && p.toTool[len(p.toTool)/2] > time.Second {
		p.t.Errorf("the desk's answer takes %v to the tool", p.toTool[len(p.toTool)/2])
	}
}
