package claims

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"pennypost/internal/base/confined"
	"pennypost/internal/base/wording"
	"pennypost/internal/base/worktree"
	"pennypost/internal/mail"
)

// LookEvery is how often claimed files are checked for writes that no hook reported.
const LookEvery = 2 * time.Second

// maxWatched is how many files, directories and patterns are watched. Others are not checked.
const maxWatched = 5000

// Watch notices writes to claimed files, and who may have written them, judging by tool calls. It checks claims made
// on this machine since it started, and claims in the trees in which agents have used tools since, and nothing else:
// by times and sizes, never by content. The zero value with Room set is ready to use.
type Watch struct {
	// Room returns a room as the post office sees it.
	Room    func(mail.RoomName) Room
	Machine mail.Machine // this machine, if the room is on several

	mu     sync.Mutex
	files  map[fileKey]*file // by claimed path; only Look changes a file's content
	below  int               // number of files in their trees
	agents map[seat]*work
	places map[place]bool // where agents use tools; true: the claims there are watched
	looked time.Time      // time of the last look
}

// Room is Watch's view of a room. Every mail.Service implements it.
type Room interface {
	mail.Claimer
	mail.Sender
}

// seat is an agent of a room.
type seat struct {
	room  mail.RoomName
	agent mail.Name
}

// fileKey is a file that an agent holds.
type fileKey struct {
	seat
	root, path string
}

// file is the state of a claimed file.
type file struct {
	at    string
	since mail.Time
	last  stamp
	tree  *tree              // for a directory or pattern
	told  map[mail.Name]bool // writers that were reported; "": unknown
}

// place is a directory in which agents of a room work.
type place struct {
	room mail.RoomName
	dir  string
}

// maxPlaces limits remembered places. Beyond it all are forgotten and checked again.
const maxPlaces = 1000

// stamp changes when a file changes.
type stamp struct {
	changed time.Time
	size    int64
	there   bool
}

// work holds what an agent's tool calls show.
type work struct {
	running map[string]map[fileKey]bool // by call: its writes
	ended   time.Time                   // when the last call ended
	wrote   map[fileKey]bool            // that call's writes
}

// Began records the start of an agent's tool call and its writes.
func (w *Watch) Began(at seat, use string, writes []mail.Target) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.agents == nil {
		w.agents = make(map[seat]*work)
	}
	a := w.agents[at]
	if a == nil {
		a = &work{running: make(map[string]map[fileKey]bool)}
		w.agents[at] = a
	}
	said := make(map[fileKey]bool, len(writes))
	for _, t := range writes {
		said[fileKey{at, t.Root, t.Path}] = true
	}
	a.running[use] = said
}

// Ended records that a call has ended or, without a use, that all of the agent's have.
func (w *Watch) Ended(at seat, use string, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.agents[at]
	if a == nil || len(a.running) == 0 || use != "" && a.running[use] == nil { // a call that only reads
		return
	}
	a.ended, a.wrote = now, a.running[use]
	if delete(a.running, use); use == "" {
		clear(a.running)
	}
}

// At records that an agent of a room uses tools in a directory of this machine.
func (w *Watch) At(room mail.RoomName, dir string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := place{room, dir}
	if _, known := w.places[p]; known {
		return
	}
	if w.places == nil || len(w.places) >= maxPlaces {
		w.places = make(map[place]bool)
	}
	w.places[p] = false
}

// adopt starts watching the claims in trees where agents have begun to work: they may predate the post office's
// start.
func (w *Watch) adopt(ctx context.Context) {
	w.mu.Lock()
	var begun []place
	for p, known := range w.places {
		if !known {
			begun = append(begun, p)
			w.places[p] = true
		}
	}
	w.mu.Unlock()
	for _, p := range begun {
		here, err := worktree.Find(p.dir, p.dir)
		if err != nil {
			continue
		}
		list, err := w.Room(p.room).Claims(ctx, mail.ClaimQuery{})
		if err != nil {
			continue
		}
		var held []mail.Holding
		for _, h := range list.Claims {
			if h.Root == here.Root && (h.Machine == "" || h.Machine == w.Machine) {
				h.At = here.At // not where the claim says that it is
				held = append(held, h)
			}
		}
		w.Holds(p.room, held)
	}
}

// Holds starts watching new claims of an agent.
func (w *Watch) Holds(room mail.RoomName, held []mail.Holding) {
	for i := range held {
		h := &held[i]
		k := fileKey{seat{room, h.Agent}, h.Root, h.Path}
		if h.Root == "" || !w.misses(k, h.Since) {
			continue
		}
		f := &file{at: h.At, since: h.Since, told: make(map[mail.Name]bool)}
		if h.Form == mail.FileForm {
			f.last = stampOf(h.At, h.Path)
		} else if t, err := (&tree{}).walk(h.Target); err != nil {
			continue // too large
		} else {
			f.tree = t
		}
		w.watch(k, f)
	}
}

// misses reports whether a claim is not watched but could be.
func (w *Watch) misses(k fileKey, since mail.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.files[k]
	return (f == nil || f.since != since) && len(w.files) < maxWatched
}

func (w *Watch) watch(k fileKey, f *file) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.files == nil {
		w.files = make(map[fileKey]*file)
	}
	w.leave(k)
	if n := f.size(); w.below+n <= maxBelow {
		w.files[k] = f
		w.below += n
	}
}

// leave stops watching a file. The caller holds mu.
func (w *Watch) leave(k fileKey) {
	if f := w.files[k]; f != nil {
		w.below -= f.size()
		delete(w.files, k)
	}
}

func (f *file) size() int {
	if f.tree == nil {
		return 0
	}
	return f.tree.size
}

func stampOf(at, path string) stamp {
	info, err := confined.At(at).Lstat(path)
	if err != nil {
		return stamp{}
	}
	return stampFrom(info)
}

func stampFrom(info fs.FileInfo) stamp {
	if !info.Mode().IsRegular() {
		return stamp{there: info.Mode()&fs.ModeType != 0}
	}
	return stamp{info.ModTime(), info.Size(), true}
}

// Look checks the files that are still claimed, and reports writes to their holders.
func (w *Watch) Look(ctx context.Context, now time.Time) {
	w.adopt(ctx)
	w.mu.Lock()
	idle := len(w.files) == 0
	w.mu.Unlock()
	if idle {
		w.rest(now)
		return
	}
	for room, still := range w.held(ctx) {
		for _, change := range w.changes(room, still) {
			change.tell(ctx, w.Room(room))
		}
	}
	w.rest(now)
}

// rest records the time of the look, and forgets agents that no longer matter for it.
func (w *Watch) rest(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looked = now
	for at, a := range w.agents {
		if len(a.running) == 0 && a.ended.Before(now.Add(-time.Minute)) {
			delete(w.agents, at)
		}
	}
}

// held returns the present claims of each room, and stops watching files that are no longer claimed.
func (w *Watch) held(ctx context.Context) map[mail.RoomName]map[fileKey]mail.Holding {
	all := make(map[mail.RoomName]map[fileKey]mail.Holding)
	w.mu.Lock()
	for k := range w.files {
		all[k.room] = nil
	}
	w.mu.Unlock()
	for room := range all {
		list, err := w.Room(room).Claims(ctx, mail.ClaimQuery{})
		if err != nil {
			continue // the next look retries
		}
		still := make(map[fileKey]mail.Holding)
		for _, h := range list.Claims {
			still[fileKey{seat{room, h.Agent}, h.Root, h.Path}] = h
		}
		all[room] = still
		w.mu.Lock()
		for k, f := range w.files {
			if k.room == room && still[k].Since != f.since {
				w.leave(k)
			}
		}
		w.mu.Unlock()
	}
	return all
}

// change is a write that no hook reported.
type change struct {
	held   mail.Holding
	path   string    // the file written, in the tree
	writer mail.Name // "": unknown
}

// changes returns the writes to a room's claimed files since the last look by others than their holders.
func (w *Watch) changes(room mail.RoomName, still map[fileKey]mail.Holding) (list []change) {
	some := make(map[fileKey]*file)
	w.mu.Lock()
	for k, f := range w.files {
		if k.room == room && still[k].Since != 0 {
			some[k] = f
		}
	}
	w.mu.Unlock()
	for k, f := range some {
		paths, ok := w.written(k, f, still[k].Target)
		w.mu.Lock()
		if !ok && w.files[k] == f {
			w.leave(k)
		}
		for _, path := range paths {
			if by, tells := w.tells(k, f, path); tells {
				list = append(list, change{still[k], path, by})
			}
		}
		w.mu.Unlock()
	}
	return list
}

// written returns the changed files of a claim, and whether it can still be watched.
func (w *Watch) written(k fileKey, f *file, held mail.Target) (paths []string, ok bool) {
	if f.tree == nil {
		if now := stampOf(f.at, k.path); now != f.last {
			f.last, paths = now, []string{k.path}
		}
		return paths, true
	}
	held.At = f.at
	now, err := f.tree.walk(held)
	if err != nil {
		return nil, !errors.Is(err, confined.ErrMany) // if it cannot be read now, a later look sees the changes
	}
	paths = f.tree.differs(f.at, now)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.below += now.size - f.tree.size
	*f.tree = *now
	return paths, w.below <= maxBelow
}

// tells reports whether a write must be reported to the holder, and its writer. The caller holds mu.
func (w *Watch) tells(k fileKey, f *file, path string) (by mail.Name, tells bool) {
	by, known := w.writer(fileKey{k.seat, k.root, path})
	own := known && by == k.agent || k.agent == mail.User && by == "" // the user edits their own files
	if own || f.told[by] {
		return by, false
	}
	f.told[by] = true
	return by, true
}

// writer returns the only agent that may have written a file since the last look: the holder if its call says so, or
// the only one with a running call. The caller holds mu.
func (w *Watch) writer(k fileKey) (by mail.Name, known bool) {
	n := 0
	for at, a := range w.agents {
		lately := !a.ended.IsZero() && !a.ended.Before(w.looked)
		if at.room != k.room || len(a.running) == 0 && !lately {
			continue
		}
		if at == k.seat && a.says(k) {
			return k.agent, true
		}
		by = at.agent
		n++
	}
	if n != 1 {
		return "", false
	}
	return by, true
}

// says reports whether a running call, or the last one that ended, writes a file.
func (a *work) says(k fileKey) bool {
	for _, said := range a.running {
		if said[k] {
			return true
		}
	}
	return a.wrote[k]
}

// tell reports a change to the holder and, if known, to the writer. It is done once per claim and writer, even if it
// fails: the next look sees the file as it is then.
func (c change) tell(ctx context.Context, room Room) {
	h := c.held
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %s", h.Agent, c.writer, h.Target)) // a path may be longer than a key
	// Reclaiming within a minute gives the same key, so the holder is told once.
	key := fmt.Sprintf("hidden %d %x", h.Since.Std().Unix()/60, sum[:16])
	since := h.Clock()
	who := "someone, perhaps the user"
	if c.writer != "" {
		who = string(c.writer)
		_, _ = room.Send(ctx, mail.Draft{To: mail.Recipients{who}, Type: string(mail.Custom), Key: key + " writer",
			Priority: string(mail.Urgent),
			Subject:  wording.Clip(fmt.Sprintf("You wrote %s, which %s holds", c.path, h.Agent), mail.MaxSubject),
			Body: fmt.Sprintf("%s has held %s since %s, and it changed while a call of yours ran. Agree with %s "+
				"who continues.\n", h.Agent, h.Target, since, h.Agent)})
	}
	_, _ = room.Send(ctx, mail.Draft{To: mail.Recipients{string(h.Agent)}, Type: string(mail.Custom), Key: key,
		Priority: string(mail.Urgent),
		Subject:  wording.Clip(fmt.Sprintf("%s, which you hold, was written by %s", c.path, who), mail.MaxSubject),
		Body: fmt.Sprintf("You have held %s since %s. It was not written by your tools. Read it again before you "+
			"change it.\n", h.Target, since)})
}
