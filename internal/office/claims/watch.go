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

// LookEvery is how often it is looked whether a file that is held was written by what no hook told of.
const LookEvery = 2 * time.Second

// maxWatched is how many files, directories and patterns are looked at. Of more, what no hook told of is not noticed.
const maxWatched = 5000

// Watch notices writes to files that are held, and who may have written, as far as calls of tools tell. It looks at
// what was claimed on this machine since it began, and at what is held in the trees in which agents used tools since,
// and at nothing else: by times and sizes, and never at what files hold. The zero value, with Room, is ready.
type Watch struct {
	// Room returns a room as the post office itself sees it.
	Room    func(mail.RoomName) Room
	Machine mail.Machine // this one, where the room is on several

	mu     sync.Mutex
	files  map[fileKey]*file // by the path of what is held; what a file has, Look alone changes
	below  int               // how many files the trees among them have
	agents map[seat]*work
	places map[place]bool // where agents use tools; true: what is held there is looked at
	looked time.Time      // when it was looked last
}

// Room is what Watch asks of a room. Every mail.Service is one.
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

// file is what is known of it.
type file struct {
	at    string
	since mail.Time
	last  stamp
	tree  *tree              // of what is no file
	told  map[mail.Name]bool // of whose writes; "": of somebody's
}

// place is a directory where agents of a room work.
type place struct {
	room mail.RoomName
	dir  string
}

// maxPlaces bounds what is remembered of them. Of more, all are looked at again.
const maxPlaces = 1000

// stamp changes with a file.
type stamp struct {
	changed time.Time
	size    int64
	there   bool
}

// work is what the calls of an agent's tools tell.
type work struct {
	running map[string]map[fileKey]bool // by use of a tool: what it says that it writes
	ended   time.Time                   // when the last one had
	wrote   map[fileKey]bool            // what that had said
}

// Began notes that an agent begins a call of a tool, which says that it writes some targets.
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

// Ended notes that a call has come to its end or, without a use, that all of the agent's have.
func (w *Watch) Ended(at seat, use string, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.agents[at]
	if a == nil || len(a.running) == 0 || use != "" && a.running[use] == nil { // a call that reads only
		return
	}
	a.ended, a.wrote = now, a.running[use]
	if delete(a.running, use); use == "" {
		clear(a.running)
	}
}

// At notes that an agent of a room uses tools in a directory of this machine.
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

// adopt has looked at what is held in trees where agents have begun to work: it may have been claimed before the post
// office started.
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
				h.At = here.At // wherever the claim says that it is
				held = append(held, h)
			}
		}
		w.Holds(p.room, held)
	}
}

// Holds has looked at what an agent has come to hold.
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
			continue // it is too large
		} else {
			f.tree = t
		}
		w.watch(k, f)
	}
}

// misses reports whether a claim is not looked at and could be.
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

// leave looks at a file no more. The caller holds mu.
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

// Look looks at the files that are held still, and has those told whose files were written.
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

// rest notes when it was looked last, and forgets agents that have nothing to do with that.
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

// held returns what is held still in each room, and lets go of the files that are not.
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
			continue // it is looked at again
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

// change is a write that no hook told of.
type change struct {
	held   mail.Holding
	path   string    // what was written, in the tree
	writer mail.Name // "": nobody knows
}

// changes returns what was written of what is held in a room since it was looked last, by another than the holders.
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

// written returns what was written of what is held, and whether it can be looked at again.
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
		return nil, !errors.Is(err, confined.ErrMany) // of what cannot be looked at now, it is seen later
	}
	paths = f.tree.differs(f.at, now)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.below += now.size - f.tree.size
	*f.tree = *now
	return paths, w.below <= maxBelow
}

// tells reports whether a holder is to be told that a file was written, and by whom. The caller holds mu.
func (w *Watch) tells(k fileKey, f *file, path string) (by mail.Name, tells bool) {
	by, known := w.writer(fileKey{k.seat, k.root, path})
	own := known && by == k.agent || k.agent == mail.User && by == "" // who edits most of their files themselves
	if own || f.told[by] {
		return by, false
	}
	f.told[by] = true
	return by, true
}

// writer returns who alone may have written a file since it was looked last: the holder, if its call says so, or who
// alone had a call running. The caller holds mu.
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

// says reports whether a call that runs, or the last that ended, says that it writes a file.
func (a *work) says(k fileKey) bool {
	for _, said := range a.running {
		if said[k] {
			return true
		}
	}
	return a.wrote[k]
}

// tell tells the holder and, if it is known, who wrote. Told once of each claim and writer, it may fail: the next look
// sees the file as it is.
func (c change) tell(ctx context.Context, room Room) {
	h := c.held
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %s", h.Agent, c.writer, h.Target)) // a path may be longer than a key
	// However often it is taken in a minute, its holder is told once.
	key := fmt.Sprintf("hidden %d %x", h.Since.Std().Unix()/60, sum[:16])
	since := h.Clock()
	who := "somebody, perhaps the user"
	if c.writer != "" {
		who = string(c.writer)
		_, _ = room.Send(ctx, mail.Draft{To: mail.Recipients{who}, Type: string(mail.Custom), Key: key + " writer",
			Priority: string(mail.Urgent),
			Subject:  wording.Clip(fmt.Sprintf("You wrote %s, which %s holds", c.path, h.Agent), mail.MaxSubject),
			Body: fmt.Sprintf("%s has held %s since %s, and it changed while a call of yours ran. Settle with %s who "+
				"goes on.\n", h.Agent, h.Target, since, h.Agent)})
	}
	_, _ = room.Send(ctx, mail.Draft{To: mail.Recipients{string(h.Agent)}, Type: string(mail.Custom), Key: key,
		Priority: string(mail.Urgent),
		Subject:  wording.Clip(fmt.Sprintf("%s, which you hold, was written by %s", c.path, who), mail.MaxSubject),
		Body: fmt.Sprintf("You have held %s since %s. It was written otherwise than by your tools. Read it again "+
			"before you change it.\n", h.Target, since)})
}
