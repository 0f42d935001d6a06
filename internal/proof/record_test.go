//go:build linux

package proof

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"pennypost/internal/mail"
)

// outcome is what a client knows about its request.
type outcome string

// The outcomes.
const (
	done    outcome = "done"    // it was acknowledged
	refused outcome = "refused" // it did not happen
	unknown outcome = "unknown" // it may have happened, or may still happen
)

// op is one entry in a client's own record: its request and the answer, timed by the clock of the test.
type op struct {
	Client  string        `json:"client"`
	Office  string        `json:"office"` // the post office that it asked
	Kind    string        `json:"kind"`   // send, mark, look, erase, read
	Call    time.Duration `json:"call"`   // since the run began
	Return  time.Duration `json:"return"`
	Outcome outcome       `json:"outcome"`
	Err     string        `json:"err,omitempty"`

	Room    mail.RoomName `json:"room,omitempty"`
	Message mail.ID       `json:"message,omitempty"` // of a send: from the answer
	Seq     mail.Seq      `json:"seq,omitzero"`      // from the answer
	N       int           `json:"n,omitzero"`        // of a send: the number of the client's draft
	Keyed   bool          `json:"keyed,omitzero"`    // it was sent with an idempotency key
	Kept    bool          `json:"kept,omitzero"`     // of a send: it was acknowledged as kept on the machine

	Agent  mail.Name          `json:"agent,omitempty"`  // of a mark: whose it is
	Mark   mail.Mark          `json:"mark,omitempty"`   // of a mark
	Result string             `json:"result,omitempty"` // of a mark: marked, already, not_yours, not_found
	State  mail.DeliveryState `json:"state,omitempty"`  // of a look: the state for Agent
}

// book is the record of one client.
type book struct {
	client string
	office string // the post office that the client asks
	began  time.Time

	mu  sync.Mutex
	ops []op
}

// now is the time since the run began.
func (b *book) now() time.Duration { return time.Since(b.began) }

// add finishes an entry that began at o.Call.
func (b *book) add(o op, err error) {
	o.Client, o.Office, o.Return = b.client, b.office, b.now()
	if o.Outcome == "" {
		o.Outcome = outcomeOf(err)
	}
	if err != nil {
		o.Err = fmt.Sprintf("%.200v", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ops = append(b.ops, o)
}

// all returns the entries so far.
func (b *book) all() []op {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ops[:len(b.ops):len(b.ops)]
}

// save writes the record as JSON Lines.
func (b *book) save(dir string) error {
	return writeLines(filepath.Join(dir, b.client+".jsonl"), func(enc *json.Encoder) error {
		for _, o := range b.all() {
			if err := enc.Encode(o); err != nil {
				return err
			}
		}
		return nil
	})
}

// breach is a broken promise.
type breach struct {
	promise string // P1 to P12
	text    string
}

// verdict is porcupine's verdict on the history of one message, or of one claimed name.
type verdict struct {
	promise string
	about   string
	result  porcupine.CheckResult
	model   porcupine.Model
	history []porcupine.Operation
}

// judged adds a verdict.
func (f *findings) judged(v verdict) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.verdicts = append(f.verdicts, v)
}

// publish writes the verdicts as JSON Lines, and a picture of each history that is wrong.
func (f *findings) publish(dir string) error {
	return writeLines(filepath.Join(dir, "verdicts.jsonl"), func(enc *json.Encoder) error {
		for i, v := range f.verdicts {
			said := struct {
				Promise    string `json:"promise"`
				About      string `json:"about"`
				Operations int    `json:"operations"`
				Verdict    string `json:"verdict"` // of porcupine: Ok, Illegal, Unknown
				Picture    string `json:"picture,omitempty"`
			}{v.promise, v.about, len(v.history), string(v.result), ""}
			if v.result == porcupine.Illegal {
				said.Picture = fmt.Sprintf("history-%d.html", i)
				_, how := porcupine.CheckOperationsVerbose(v.model, v.history, limit)
				if err := porcupine.VisualizePath(v.model, how, filepath.Join(dir, said.Picture)); err != nil {
					return err
				}
			}
			if err := enc.Encode(said); err != nil {
				return err
			}
		}
		return nil
	})
}

// writeLines makes a file of JSON Lines.
func writeLines(path string, write func(*json.Encoder) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	if err := write(json.NewEncoder(w)); err != nil {
		return err
	}
	return w.Flush()
}

// findings are the breaches of a run. Only the first few of many similar breaches are reported.
type findings struct {
	mu       sync.Mutex
	list     []breach
	count    map[string]int // by promise
	verdicts []verdict
	alike    map[string]int // by promise and way
}

// each is how many breaches of one kind are reported.
const each = 5

func (f *findings) add(promise, format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count == nil {
		f.count, f.alike = make(map[string]int), make(map[string]int)
	}
	f.count[promise]++
	if f.alike[promise+format]++; f.alike[promise+format] <= each {
		f.list = append(f.list, breach{promise, fmt.Sprintf(format, args...)})
	}
}
