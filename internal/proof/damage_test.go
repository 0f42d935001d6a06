//go:build linux

package proof

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"

	"pennypost/internal/mail"
)

// annex is a room made to be damaged: the damage is known, and so is the mail that must survive.
type annex struct {
	*nemesis
	name string
	sent []mail.ID // in order
}

// annexMail is how many messages an annex has.
const annexMail = 12

// harm is one way to damage a journal. It returns the remaining lines, and which of the original ones it has harmed.
type harm struct {
	name string
	gone bool // those lines are gone: each of their sequence numbers must be named as missing
	do   func(r *rand.Rand, lines [][]byte) (after [][]byte, lost []int)
}

// loss is the effect of a harm.
type loss struct {
	harm
	messages []mail.ID
	places   []mail.Seq
}

func harms() []harm {
	middle := func(r *rand.Rand, lines [][]byte) int { return 2 + r.IntN(len(lines)-4) }
	return []harm{
		{"a bit flipped", false, func(r *rand.Rand, lines [][]byte) ([][]byte, []int) {
			i := middle(r, lines)
			lines[i] = bytes.Clone(lines[i])
			lines[i][r.IntN(len(lines[i])-2)] ^= 1 << r.IntN(7)
			return lines, []int{i}
		}},
		{"a line taken out", true, func(r *rand.Rand, lines [][]byte) ([][]byte, []int) {
			i := middle(r, lines)
			return slices.Delete(lines, i, i+1), []int{i}
		}},
		{"cut in the middle of a line", false, func(r *rand.Rand, lines [][]byte) ([][]byte, []int) {
			i := middle(r, lines)
			line := lines[i]
			at := 10 + r.IntN(len(line)-20)
			lines[i] = append(bytes.Clone(line[:at]), line[at+5:]...)
			return lines, []int{i}
		}},
		{"the last lines cut off", true, func(r *rand.Rand, lines [][]byte) ([][]byte, []int) {
			i := middle(r, lines)
			return lines[:i], rangeOf(i, len(lines))
		}},
		{"emptied", true, func(_ *rand.Rand, lines [][]byte) ([][]byte, []int) {
			return nil, rangeOf(0,
				len(lines))
		}},
		{"zeroed", true, func(_ *rand.Rand, lines [][]byte) ([][]byte, []int) {
			return [][]byte{make([]byte, len(bytes.Join(lines, nil)))}, rangeOf(0, len(lines))
		}},
	}
}

func rangeOf(from, to int) (out []int) {
	for i := from; i < to; i++ {
		out = append(out, i)
	}
	return out
}

// damaged makes an annex, damages its journal while the post office is stopped, and holds that nothing else is lost,
// that verify names the damage, and that the room still works.
func (n *nemesis) damaged(r *rand.Rand) error {
	n.annexes++
	a := &annex{nemesis: n, name: fmt.Sprintf("annex-%d", n.annexes)}
	if err := a.fill(); err != nil {
		return err
	}
	if err := n.stop(); err != nil {
		n.found.add("P1", "before a damage: SIGTERM: %v", err)
	}
	lost, err := a.harm(r, harms()[n.annexes%len(harms())])
	if err := errors.Join(err, n.start()); err != nil {
		return err
	}
	n.log("  %s: %s", a.name, lost.name)
	a.check(lost)
	return nil
}

func (a *annex) path(rest string) string { return "/rooms/" + a.name + rest }

func (a *annex) send(body string) (mail.ID, error) {
	var sent mail.Sent
	err := a.probe.do(context.Background(), http.MethodPost, a.path("/messages"),
		mail.Draft{To: mail.Recipients{"user"}, Body: body, Key: body}, &sent)
	return sent.ID, err
}

func (a *annex) fill() error {
	for i := range annexMail {
		id, err := a.send(fmt.Sprint("before ", i))
		if err != nil {
			return fmt.Errorf("%s cannot be filled: %w", a.name, err)
		}
		a.sent = append(a.sent, id)
	}
	return nil
}

// harm damages the journal.
func (a *annex) harm(r *rand.Rand, h harm) (loss, error) {
	lost := loss{harm: h}
	lines, err := linesOf(a.journal(a.name))
	if err != nil || len(lines) < annexMail {
		return lost, errors.Join(err, fmt.Errorf("%s has %d lines", a.name, len(lines)))
	}
	before := slices.Clone(lines)
	after, places := h.do(r, lines)
	for _, i := range places {
		var e mail.Event
		if err := json.Unmarshal(before[i], &e); err != nil {
			return lost, err
		}
		lost.places = append(lost.places, e.Seq)
		if e.Message != nil {
			lost.messages = append(lost.messages, e.Message.ID)
		}
	}
	return lost, os.WriteFile(a.journal(a.name), bytes.Join(after, nil), 0o600)
}

// check holds that the room still works, that all unharmed mail is there, and that verify names exactly the harmed
// lines.
func (a *annex) check(lost loss) {
	wrong := func(format string, args ...any) {
		a.found.add("P2", "%s, whose journal was %s: %s", a.name, lost.name, fmt.Sprintf(format, args...))
	}
	id, err := a.send("after")
	if err != nil {
		wrong("no message can be sent: %v", err)
		return
	}
	var page mail.Page
	if err := a.probe.do(context.Background(), http.MethodGet, a.path("/messages?limit=1000&archive=true"), nil,
		&page); err != nil {
		wrong("%v", err)
		return
	}
	for _, want := range append(slices.Clone(a.sent), id) {
		there := slices.ContainsFunc(page.Messages, func(it mail.Item) bool { return it.ID == want })
		if !there && !slices.Contains(lost.messages, want) {
			wrong("message %s is gone with it", want)
		}
	}
	var v mail.Verification
	if err := a.probe.do(context.Background(), http.MethodPost, a.path("/verify"), nil, &v); err != nil {
		wrong("verify: %v", err)
		return
	}
	named := make(map[mail.Seq]bool)
	for _, p := range v.Problems {
		for seq := p.First; seq != 0 && seq <= p.Last; seq++ {
			if named[seq] = true; !slices.Contains(lost.places, seq) {
				wrong("verify says that place %d is missing, which was let alone: %s", seq, told(v.Problems))
			}
		}
	}
	for _, seq := range lost.places {
		if len(v.Problems) == 0 || lost.gone && !named[seq] {
			wrong("verify does not name place %d: %s", seq, told(v.Problems))
			break
		}
	}
}

// told returns a list of problems on one line.
func told(problems []mail.Problem) string {
	var b strings.Builder
	for i, p := range problems {
		if i == 5 {
			fmt.Fprintf(&b, "… %d in all", len(problems))
			break
		}
		fmt.Fprintf(&b, "%s:%d: %s; ", p.File, p.Line, p.Text)
	}
	return b.String()
}
