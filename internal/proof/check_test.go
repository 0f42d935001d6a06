//go:build linux

package proof

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pennypost/internal/mail"
)

// check checks the promises against the records, first with the post office running, then without it.
func (w *world) check() {
	w.logf("checking")
	w.drained()
	rooms := make(map[mail.RoomName][]mail.Item)
	names := []mail.RoomName{"main", "harbour", "cellar"}
	if w.storm != nil {
		names = append(names, attic)
	}
	for _, room := range names {
		if err := w.trim(room); err != nil {
			w.found.add("P1", "%s cannot be trimmed: %v", room, err)
		}
		items, err := w.export(w.admin, room)
		if err != nil {
			w.found.add("P2", "%s cannot be exported: %v", room, err)
			return
		}
		rooms[room] = items
		err = writeLines(filepath.Join(w.records, "room-"+string(room)+".jsonl"), func(enc *json.Encoder) error {
			for i := range items {
				if err := enc.Encode(&items[i]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			w.logf("what is in %s is not written down: %v", room, err)
		}
		for _, o := range w.offices {
			w.checkUser(o, room, items)
			w.checkVerify(o, room)
		}
	}
	w.checkEqual(rooms)
	if w.storm != nil {
		w.checkRings()
	}
	for _, s := range w.senders {
		w.checkSender(s, rooms[s.room])
	}
	w.checkStrangers(rooms)
	w.checkSeen(rooms)
	w.checkReceipts()
	hot, err := w.history(w.admin, "main", false, math.MaxInt)
	if err != nil {
		w.found.add("P9", "the history of main: %v", err)
	}
	w.checkMarks(rooms["main"])
	w.checkClaims()
	// For archived mail only its marks are kept, not its recipients.
	w.checkStates(slices.DeleteFunc(rooms["main"], func(it mail.Item) bool { return hot[it.ID] == 0 }))
	w.checkForeign(rooms["harbour"])
	for _, o := range w.offices {
		if err := o.stop(); err != nil {
			w.found.add("P1", "the last stop of %s: %v", o.name, err)
		}
		w.logf("memory of %s at its highest: %d MB", o.name, o.peak>>10)
		if o.peak > maxMemory {
			w.found.add("P12", "%s took %d kB", o.name, o.peak)
		}
	}
	w.checkErased()
}

// trim makes retention take what it would soon take, if several post offices are compared: the latest keeper of the
// room has not looked yet.
func (w *world) trim(room mail.RoomName) error {
	if w.storm == nil {
		return nil
	}
	return w.patient(w.at(0)).do(context.Background(), http.MethodPost, "/rooms/"+string(room)+"/archive", nil, nil)
}

// copies returns the copies that replaced journals.
func (w *world) copies() []copied {
	if w.nemesis == nil {
		return nil
	}
	return w.nemesis.copies
}

// patient returns a door through which the user makes long requests to a post office.
func (w *world) patient(o *office) *door {
	d := o.socket("")
	d.within = w.admin.within
	return d
}

// maxMemory, in kB, is a ceiling that a leak breaks; with 3,000 messages hot the post office needs a tenth of it.
const maxMemory = 1 << 20

// export returns every message of a room with its deliveries, in the order of the journal.
func (w *world) export(d *door, room mail.RoomName) (items []mail.Item, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), w.admin.within)
	defer cancel()
	resp, err := d.open(ctx, http.MethodGet, "/rooms/"+string(room)+"/export", nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var it mail.Item
		if err := json.Unmarshal(lines.Bytes(), &it); err != nil {
			return nil, err
		}
		items = append(items, it)
	}
	return items, lines.Err()
}

// drained waits until no machine keeps mail any more: every machine is connected again. The kept mail must shrink
// within each minute.
func (w *world) drained() {
	for _, o := range w.offices {
		d := o.socket("")
		var left string
		fewest := math.MaxInt
		for began := time.Now(); time.Since(began) < time.Minute; pause(context.Background(), 100*time.Millisecond) {
			var box mail.Outbox
			if err := d.do(context.Background(), http.MethodGet, "/outbox", nil, &box); err != nil {
				left = err.Error()
				continue
			}
			waiting := slices.DeleteFunc(box.Letters, func(k mail.Kept) bool { return k.Refused })
			if len(waiting) == 0 {
				left = ""
				break
			}
			if left = fmt.Sprintf("%.300s", asJSON(waiting)); len(waiting) < fewest {
				fewest, began = len(waiting), time.Now()
			}
		}
		if left != "" {
			w.found.add("P7", "%s sends none of the mail that it keeps in a minute: %s", o.name, left)
		}
	}
}

// checkSender holds that each acknowledged draft exists once, as it was sent (P1, P2); that one whose outcome is
// unknown exists at most once; that a refused one does not exist; and that there is no other mail under the sender's
// name (P5).
func (w *world) checkSender(s *sender, items []mail.Item) {
	byNumber := make(map[int][]mail.Item)
	for _, it := range items {
		if it.From != mail.AgentAddress(mail.Name(s.client)) || it.Via != "" {
			continue
		}
		n, ok := numberOf(s.client, it.Body)
		if !ok || n > len(s.all()) {
			w.found.add("P5", "%s never sent %.100q, which is there as %s", s.client, it.Body, it.ID)
			continue
		}
		byNumber[n] = append(byNumber[n], it)
		if d := s.draft(n); it.Body != d.Body || it.Subject != d.Subject || it.Type != mail.Type(d.Type) {
			w.found.add("P2", "message %d of %s is there as %s with another text: %.100q, sent was %.100q", n,
				s.client, it.ID, it.Body, d.Body)
		}
	}
	erased := w.erased()
	acked, doubtful := 0, 0
	last := mail.Seq(0)
	for _, o := range s.all() {
		there := byNumber[o.N]
		if len(there) > 1 {
			w.found.add("P2", "message %d of %s is there %d times, as %s and %s", o.N, s.client, len(there),
				there[0].ID, there[1].ID)
		}
		switch {
		case o.Outcome == done:
			acked++
			switch {
			case len(there) == 0 && erased[o.Message] == "":
				w.found.add("P1", "message %d of %s, acknowledged as %s after %v, is not there", o.N, s.client,
					o.Message, o.Return)
			case len(there) == 1 && erased[o.Message] == done:
				w.found.add("P11", "message %s of %s was erased and is there", o.Message, s.client)
			case len(there) == 1 && there[0].ID != o.Message && !o.Kept: // kept mail has no id when it is acknowledged
				w.found.add("P2", "message %d of %s was acknowledged as %s and is there as %s", o.N, s.client,
					o.Message, there[0].ID)
			}
		case o.Outcome == refused && len(there) > 0:
			w.found.add("P1", "message %d of %s was refused (%s) and is there", o.N, s.client, o.Err)
		case o.Outcome == unknown:
			doubtful++
		}
		if o.Outcome == done && len(there) == 1 { // an uncertain draft may have arrived at any time since
			if there[0].Seq <= last {
				w.found.add("P3", "message %d of %s stands before one that it was sent after", o.N, s.client)
			}
			last = there[0].Seq
		}
	}
	w.logf("%-12s %7d sent, %7d acknowledged, %4d in doubt", s.client, len(s.all()), acked, doubtful)
}

// erased returns the known outcome for each message that the user tried to erase.
func (w *world) erased() map[mail.ID]outcome {
	out := make(map[mail.ID]outcome)
	for _, o := range w.eraser.all() {
		out[o.Message] = o.Outcome
	}
	return out
}

// checkStrangers holds that a room has no mail from a sender who never sent (P5).
func (w *world) checkStrangers(rooms map[mail.RoomName][]mail.Item) {
	for room, items := range rooms {
		known := map[mail.Address]bool{"user": true, "system": true, "agent:system": true, "agent:user": true}
		for _, s := range w.senders {
			if s.room == room {
				known[mail.AgentAddress(mail.Name(s.client))] = true
			}
		}
		for _, it := range items {
			if !known[it.From] && it.Via == "" {
				w.found.add("P5", "%s in %s is from %q, who sent nothing: %.100q", it.ID, room, it.From, it.Body)
			}
			if strings.HasPrefix(it.Body, "forged") {
				w.found.add("P5", "a forgery is in %s: %s from %s", room, it.ID, it.From)
			}
		}
	}
}

// checkSeen holds that all watchers of a room saw the same events at the same sequence numbers, each watcher all of
// those between its first and its last, and among them every acknowledged message (P3).
func (w *world) checkSeen(rooms map[mail.RoomName][]mail.Item) {
	for room, items := range rooms {
		sums := make(map[mail.Seq]uint64)
		messages, mails := make(map[mail.ID]mail.Seq), make(map[mail.Seq]bool)
		for _, it := range items {
			mails[it.Seq] = true
		}
		type other struct {
			watcher string
			seq     mail.Seq
		}
		var others []other // what was not the same for all
		var here []*watcher
		for _, one := range w.watchers {
			if one.room != room {
				continue
			}
			here = append(here, one)
			for _, s := range one.all() {
				if sum, ok := sums[s.seq]; ok && sum != s.sum {
					others = append(others, other{one.name, s.seq})
				}
				sums[s.seq] = s.sum
				if at, ok := messages[s.message]; ok && at != s.seq && s.message != "" {
					w.found.add("P3", "message %s was shown as event %d and as event %d", s.message, at, s.seq)
				}
				messages[s.message] = s.seq
			}
		}
		if len(here) == 0 {
			continue
		}
		places := slices.Sorted(maps.Keys(sums))
		hot := w.hot(room)
		for _, o := range others {
			if hot[o.seq] || mails[o.seq] { // the others are void: erased, or made void by a later event
				w.found.add("P3", "%s saw something else as event %d of %s than another", o.watcher, o.seq, room)
			}
		}
		for _, one := range here {
			w.checkGaps(one, places, hot, mails)
		}
		for _, s := range w.senders {
			for _, o := range s.all() {
				if at, ok := messages[o.Message]; s.room == room && o.Outcome == done && !o.Kept && (!ok ||
					o.Seq != 0 && at != o.Seq) {
					w.found.add("P3",
						"message %s was acknowledged as event %d and shown to watchers as event %d (0: never)",
						o.Message, o.Seq, at)
				}
			}
		}
		w.logf("%d watchers of %s saw %d events", len(here), room, len(places))
	}
}

// checkGaps compares the events of one watcher with those of all. A watcher does not see events that were compacted
// while it was disconnected, and on a machine that lags none that was already void there: erased, or made void by a
// later event. mails are those of messages that exist.
func (w *world) checkGaps(one *watcher, places []mail.Seq, hot, mails map[mail.Seq]bool) {
	all, compacted := one.all(), 0
	for _, p := range places {
		i, seen := slices.BinarySearchFunc(all, p, func(s sight, p mail.Seq) int { return cmp.Compare(s.seq, p) })
		switch {
		case seen || i == len(all):
		case !hot[p] && (all[i].first || !mails[p]):
			compacted++
		default:
			w.found.add("P3", "%s did not see event %d, which another saw", one.name, p)
		}
	}
	if compacted > 0 {
		w.logf("%s saw all but %d events that were compacted before it saw them", one.name, compacted)
	}
}

// hot returns the sequence numbers of the events in the journal of a post office.
func (w *world) hot(room mail.RoomName) map[mail.Seq]bool {
	out := make(map[mail.Seq]bool)
	for _, o := range w.offices {
		text, err := os.ReadFile(filepath.Join(o.home, "rooms", string(room), "mailbox.jsonl"))
		if err != nil {
			w.found.add("P3", "the journal cannot be read: %v", err)
		}
		for line := range bytes.Lines(text) {
			var e struct {
				Seq  mail.Seq  `json:"seq"`
				Gone *struct{} `json:"gone"` // it only records compacted events
			}
			if json.Unmarshal(line, &e) == nil && e.Gone == nil {
				out[e.Seq] = true
			}
		}
	}
	return out
}

// checkReceipts holds that reading without a mark left no mark (P4), and that no mail counts as presented that was
// not delivered (P7).
func (w *world) checkReceipts() {
	handed, lost := make(map[mail.ID]bool), 0
	for _, b := range w.books {
		for _, o := range b.all() {
			if o.Kind == "read" && o.Outcome == done {
				handed[o.Message] = true
			} else if o.Kind == "read" && o.Outcome == unknown {
				lost++ // an answer that a client might have read, had it arrived
			}
		}
	}
	presented := 0
	for _, one := range w.watchers {
		for _, s := range one.all() {
			if s.receipt == nil || one != w.watchers[0] {
				continue
			}
			switch who := s.receipt.Reader.Signer(); {
			case who == quiet && s.receipt.Mark != mail.MarkNotified:
				w.found.add("P4", "%s, at whose mail was only looked, has %s marked %s", quiet, s.receipt.Message,
					s.receipt.Mark)
			case s.receipt.Mark == mail.MarkPresented && who != reader:
				w.found.add("P7", "%s counts as presented to %s, to whom nothing was handed", s.receipt.Message, who)
			case s.receipt.Mark == mail.MarkPresented && !handed[s.receipt.Message]:
				presented++
			}
		}
	}
	if presented > lost*mail.DefaultLimit {
		w.found.add("P7",
			"%d messages count as presented to %s that were not handed over; %d answers were lost on the way",
			presented, reader, lost)
	}
}

// checkMarks holds that some order explains all requests and answers about marks (P6, and P2 for marks).
func (w *world) checkMarks(items []mail.Item) {
	takes, marks := newHistory(len(w.offices) > 1), newHistory(len(w.offices) > 1)
	end := w.books[0].now()
	final := make([]op, 0, len(items))
	for i := range items {
		it := &items[i]
		b := &book{client: "at the end", began: w.began}
		o := op{Kind: "look", Call: end, Message: it.ID}
		b.saw(o, it, nil)
		if len(it.Deliveries) == 0 { // in the archive that means that no one has marked it
			o.Agent, o.State = clerk, mail.Queued
			b.add(o, nil)
		}
		final = append(final, b.all()...)
	}
	asked := make(map[mail.ID]mail.Kind) // the recipient of each marked message
	for _, m := range w.markers {
		for _, o := range m.all() {
			asked[o.Message] = mail.ToAgent
			if m.comes {
				asked[o.Message] = mail.ToRole
				takes.mark(string(o.Message), o)
			} else {
				marks.mark(string(o.Message), o)
			}
		}
	}
	for _, b := range w.books {
		final = append(final, b.all()...)
	}
	looks := make(map[string]op) // one look at role mail has several entries
	for _, o := range final {
		switch {
		case o.Kind != "look" || o.Outcome != done || asked[o.Message] == 0:
		case asked[o.Message] == mail.ToAgent && o.Agent == clerk:
			marks.look(string(o.Message), o, heard{state: o.State})
		case asked[o.Message] == mail.ToRole:
			key := fmt.Sprint(o.Client, o.Call, o.Message)
			before, again := looks[key]
			if again && taken(before.State) && taken(o.State) {
				w.found.add("P6", "%s was taken by %s and by %s", o.Message, before.Agent, o.Agent)
			}
			if !again || taken(o.State) {
				looks[key] = o
			}
		}
	}
	for _, o := range looks {
		out := heard{state: o.State}
		if taken(o.State) {
			out.taker = o.Agent
		}
		takes.look(string(o.Message), o, out)
	}
	role := roleMail
	if takes.several {
		role = roleMailOfMany
	}
	undecided := takes.check(&w.found, "P6", modelOf(role)) + marks.check(&w.found, "P2", modelOf(directMail))
	w.logf("%d messages to a role and %d others were marked in competition; %d undecided", len(takes.of),
		len(marks.of),
		undecided)
}

// taken reports whether an agent with this state of role mail has taken it.
func taken(s mail.DeliveryState) bool { return s == mail.Read || s == mail.Archived }

// checkStates holds that every message has a state for each of its recipients (P7).
func (w *world) checkStates(items []mail.Item) {
	known := mail.DeliveryStates()
	for _, it := range items {
		if len(it.Deliveries) == 0 {
			w.found.add("P7", "%s to %v stands nowhere", it.ID, it.To)
		}
		for _, d := range it.Deliveries {
			if !slices.Contains(known, d.State) {
				w.found.add("P7", "%s stands as %q with %s", it.ID, d.State, d.Agent)
			}
			if d.Agent == quiet && (d.State == mail.Read || d.State == mail.Archived || d.State == mail.Presented) {
				w.found.add("P4", "%s, at which was only looked, is %s for %s", it.ID, d.State, quiet)
			}
			sleeps := slices.ContainsFunc(w.naps, func(n *nap) bool { return n.agent == d.Agent })
			if sleeps && it.Type == mail.Question && d.State != mail.Read {
				w.found.add("P8", "%s woke no one: for %s it is %s", it.ID, d.Agent, d.State)
			}
		}
	}
	for _, n := range w.naps {
		w.logf("the door of %s was rung %d times", n.agent, len(n.rings()))
	}
}

// Bounds of checkUser: each answer that reaches into the archive costs a full read of it.
const (
	historyPages  = 20
	historySample = 20
)

// checkUser holds that the user finds every message by paging through the history, as far as that reaches, and a
// sample of older ones (P9).
func (w *world) checkUser(o *office, room mail.RoomName, items []mail.Item) {
	d := w.patient(o)
	found, err := w.history(d, room, true, historyPages)
	if err != nil {
		w.found.add("P9", "the history of %s at %s: %v", room, o.name, err)
		return
	}
	first := mail.Seq(0)
	if len(found) >= historyPages*mail.MaxLimit {
		first = slices.Min(slices.Collect(maps.Values(found)))
	}
	var before []mail.ID
	for _, it := range items {
		if _, ok := found[it.ID]; !ok && it.Seq >= first {
			w.found.add("P9", "%s is in the export of %s and not in the user's history at %s", it.ID, room, o.name)
		} else if !ok {
			before = append(before, it.ID)
		}
	}
	for range min(historySample, len(before)) {
		id := before[rand.IntN(len(before))]
		var it mail.Item
		if err := d.do(context.Background(), http.MethodGet, "/rooms/"+string(room)+"/messages/"+string(id), nil,
			&it); err != nil || it.ID != id {
			w.found.add("P9", "%s is in the export of %s and the user is not shown it at %s: %v", id, room, o.name,
				err)
		}
	}
}

// history reads that many pages of a room's history as the user, the newest first, and returns the sequence numbers
// of the messages there.
func (w *world) history(d *door, room mail.RoomName, archive bool, pages int) (map[mail.ID]mail.Seq, error) {
	found := make(map[mail.ID]mail.Seq)
	before := ""
	for range pages {
		var page mail.Page
		path := fmt.Sprintf("/rooms/%s/messages?archive=%v&limit=%d%s", room, archive, mail.MaxLimit, before)
		if err := d.do(context.Background(), http.MethodGet, path, nil, &page); err != nil {
			return nil, err
		}
		for _, it := range page.Messages {
			found[it.ID] = it.Seq
		}
		if !page.More {
			break
		}
		before = fmt.Sprint("&before=", page.Next)
	}
	return found, nil
}

// checkForeign holds that every line of the foreign program is in the bridge's files once, byte for byte, and in the
// room once if it is a message; and that mail sent by the room is in the files once (P10).
func (w *world) checkForeign(items []mail.Item) {
	written := make(map[string]int)
	ids := make(map[mail.ID]int)
	_ = filepath.WalkDir(filepath.Join(w.stranger.dir, "data"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !strings.Contains(path, "mailbox") || strings.Contains(path,
			"reads") {
			return err
		}
		text, err := os.ReadFile(path)
		for line := range bytes.Lines(text) {
			line = bytes.TrimSuffix(line, []byte("\n"))
			written[string(line)]++
			var m struct{ ID mail.ID }
			if json.Unmarshal(line, &m) == nil {
				ids[m.ID]++
			}
		}
		return err
	})
	room := make(map[mail.ID][]mail.Item)
	for _, it := range items {
		room[it.ID] = append(room[it.ID], it)
	}
	for _, l := range w.stranger.all() {
		if n := written[l.text]; n != 1 {
			w.found.add("P10", "the stranger's line %.120q stands %d times in the files", l.text, n)
		}
		if there := room[l.id]; l.id != "" && (len(there) != 1 || there[0].Body != l.body || there[0].Via == "") {
			w.found.add("P10", "the stranger's message %s is in the room %d times: %+.200v", l.id, len(there), there)
		}
	}
	for _, it := range items {
		if strings.HasPrefix(string(it.From), "agent:harbour") && ids[it.ID] != 1 {
			w.found.add("P10", "message %s of the room stands %d times in the files of the bridge", it.ID, ids[it.ID])
		}
	}
	w.logf("the stranger wrote %d lines; the files hold %d", len(w.stranger.all()), len(written))
}

// checkVerify holds that the post office finds nothing wrong with a room except the copies that replaced its
// journal.
func (w *world) checkVerify(o *office, room mail.RoomName) {
	var v mail.Verification
	err := errors.New("not asked")
	for range 3 { // a comparison with servers may be interrupted
		if err != nil {
			err = w.patient(o).do(context.Background(), http.MethodPost, "/rooms/"+string(room)+"/verify", nil, &v)
		}
	}
	if err != nil {
		w.found.add("P2", "verify of %s at %s: %v", room, o.name, err)
		return
	}
	copies := slices.ContainsFunc(w.copies(), func(c copied) bool { return c.room == room })
	rest := slices.DeleteFunc(v.Problems, func(p mail.Problem) bool {
		return copies && strings.HasPrefix(p.File,
			"mailbox.foreign-")
	})
	if len(rest) > 0 {
		w.found.add("P2", "verify of %s at %s, which was not damaged, finds %d problems: %s", room, o.name,
			len(rest), told(rest))
	}
}

// broughtBack reports whether a message may be in a copy of the journal that was made before the message was erased
// and put in place afterwards.
func (w *world) broughtBack(erased op, path string) bool {
	return strings.Contains(path, "mailbox.foreign-") && slices.ContainsFunc(w.copies(), func(c copied) bool {
		return c.room == erased.Room && erased.Call < c.placed && erased.Return > c.read
	})
}

// checkErased holds that no file below the home or the bridge's directory has a word of an erased message (P11).
func (w *world) checkErased() {
	secrets := make(map[string]op)
	for _, o := range w.eraser.all() {
		for _, s := range w.senders {
			if o.Outcome == done && s.room == o.Room && s.client == string(o.Agent) {
				secrets[secretIn(s.draft(o.N).Body)] = o
			}
		}
	}
	dirs := []string{w.stranger.dir}
	for _, o := range w.offices {
		dirs = append(dirs, o.home)
	}
	for _, dir := range dirs {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			text, err := os.ReadFile(path)
			for rest := text; ; {
				_, after, ok := bytes.Cut(rest, []byte(secretMark))
				if !ok {
					return err
				}
				rest = after
				if word := secretIn(secretMark + string(after[:min(16, len(after))])); word != "" {
					if o, ok := secrets[word]; ok && !w.broughtBack(o, path) {
						w.found.add("P11", "%s was erased, and its text is in %s", o.Message, path)
					}
				}
			}
		})
	}
	w.logf("%d messages were erased", len(secrets))
}
