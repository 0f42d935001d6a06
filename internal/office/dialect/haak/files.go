package haak

import (
	"context"
	"maps"
	"slices"

	"pennypost/internal/base/confined"
	"pennypost/internal/base/lines"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// pair is a message and one of its readers.
type pair struct {
	message mail.ID
	reader  mail.Address
}

// files implements dialect.Files.
type files struct {
	o dialect.FilesOptions
	store
	agreed    *lines.File // our own: the roster's lines when room and file last agreed
	withdrawn *lines.File // our own: reads that the room has withdrawn, which the format cannot express

	queue [3]queue // unprocessed lines of roster, reads and mailbox

	names    ids // all present and past sessions
	entries  map[mail.Name]entry
	settled  map[mail.Name]string // the lines in agreed
	parents  map[mail.ID]mail.ID  // of every message in mailbox and archive
	box      map[mail.ID]bool     // messages in the mailbox
	months   map[mail.ID]string   // messages in the archive
	readers  map[mail.ID][]reading
	moved    map[pair]bool // reads in the archive
	back     map[pair]bool // withdrawn reads
	loaded   bool
	compared bool // all agents have been compared with the roster file

	pending     dialect.News
	worked      int    // calls of working
	unconfirmed bool   // the room might not have all messages of the last Read
	rejected    [4]int // counts for roster, reads, mailbox and archive
	rotation
}

// queue holds lines of a file; again means that they are the whole file.
type queue struct {
	lines [][]byte
	again bool
}

func openFiles(o dialect.FilesOptions) (dialect.Files, error) {
	f := &files{o: o, store: openStore(o.Dir)}
	f.reset()
	return f, nil
}

// reset forgets everything, so that the files are read again in full: after an error their content is unknown.
func (f *files) reset() {
	for _, file := range []*lines.File{f.roster, f.reads, f.mailbox} {
		file.Forget()
	}
	*f = files{
		o: f.o, store: f.store,
		agreed:    lines.Open(confined.At(f.o.State), "roster.jsonl", 0o600),
		withdrawn: lines.Open(confined.At(f.o.State), "unread.jsonl", 0o600),
		names:     newIDs(), entries: make(map[mail.Name]entry), settled: make(map[mail.Name]string),
		parents: make(map[mail.ID]mail.ID), box: make(map[mail.ID]bool), months: make(map[mail.ID]string),
		readers: make(map[mail.ID][]reading), moved: make(map[pair]bool), back: make(map[pair]bool),
	}
}

func (f *files) Read(ctx context.Context) (dialect.News, error) {
	err := f.catchUp(ctx)
	f.unconfirmed = false // Read is called again only after the room has the previous news
	if err == nil {
		err = f.rotate(ctx)
	}
	if err != nil {
		f.reset()
		return dialect.News{}, err
	}
	news := f.pending
	f.pending = dialect.News{}
	f.unconfirmed = len(news.Items) > 0
	news.Notice = f.notice
	for _, n := range f.rejected {
		news.Rejected += n
	}
	return news, nil
}

func (f *files) Watch() []string {
	return []string{f.o.Dir.Path("data")}
}

func (f *files) Close() error { return f.store.close() }

func (f *files) known() sessions { return f.names.find }

// catchUp reads others' new lines into pending.
func (f *files) catchUp(ctx context.Context) error {
	if err := f.load(ctx); err != nil {
		return err
	}
	// The order matters: a session is known before mail to it, and a read is not seen before its message.
	for i, file := range []*lines.File{f.roster, f.reads, f.mailbox} {
		more, again, err := file.Read()
		if err != nil {
			return err
		}
		if again {
			f.queue[i] = queue{again: true}
			f.rejected[i] = 0
		}
		f.queue[i].lines = append(f.queue[i].lines, more...)
	}
	if err := f.takeRoster(ctx); err != nil {
		return err
	}
	fresh := f.takeReads(f.queue[1].lines, false)
	f.queue[1] = queue{}
	f.takeMessages(ctx)
	for _, r := range fresh {
		if !f.back[pair{r.message, r.reader}] {
			f.pending.Receipts = append(f.pending.Receipts, mail.Receipt{Message: r.message, Reader: r.reader,
				Mark: mail.MarkRead})
		}
	}
	return nil
}

// load reads our own files and the archive, once: only rotation adds to the archive.
func (f *files) load(ctx context.Context) error {
	if f.loaded {
		return nil
	}
	agents, err := mail.Roster(ctx, f.o.Service)
	if err != nil {
		return err
	}
	for _, a := range agents {
		f.names.add(a.Name)
	}
	agreed, _, err := f.agreed.Read()
	if err != nil {
		return err
	}
	for _, l := range agreed {
		if e, err := decodeEntry(l, f.known()); err == nil {
			f.settled[e.name] = e.line
		}
	}
	withdrawn, _, err := f.withdrawn.Read()
	if err != nil {
		return err
	}
	for _, l := range withdrawn {
		if r, err := decodeReading(l, f.known()); err == nil {
			f.back[pair{r.message, r.reader}] = r.at != 0 // without a time: it was read again
		}
	}
	f.loaded = true
	return f.loadArchive(ctx)
}

func (f *files) loadArchive(ctx context.Context) error {
	months, err := f.archived()
	if err != nil {
		return err
	}
	for _, month := range months {
		reads, _, err := f.month(month + readsSuffix).Read()
		if err != nil {
			return err
		}
		f.takeReads(reads, true)
		messages, _, err := f.month(month).Read()
		if err != nil {
			return err
		}
		f.rejected[3] += f.take(ctx, messages, month)
	}
	return nil
}

// takeRoster processes new lines of the roster: others' changes to sessions become news.
func (f *files) takeRoster(ctx context.Context) error {
	if len(f.queue[0].lines) == 0 {
		return nil
	}
	agents, err := f.agents(ctx)
	if err != nil {
		return err
	}
	var changed []mail.Name
	for _, l := range f.queue[0].lines {
		f.working()
		e, err := decodeEntry(l, f.known())
		if err != nil {
			f.rejected[0]++
			continue
		}
		f.names.add(e.name)
		f.entries[e.name] = e
		if !slices.Contains(changed, e.name) {
			changed = append(changed, e.name)
		}
	}
	f.queue[0] = queue{}
	parents := make(map[mail.Name]bool)
	for name := range agents {
		parents[name] = true
	}
	var agreed []mail.Name
	for _, name := range changed {
		f.working()
		e := f.entries[name]
		f.pending.Agents = slices.DeleteFunc(f.pending.Agents, func(p mail.Presence) bool { return p.Name == name })
		if e.retired() || e.line == f.settled[name] {
			continue
		}
		p, ok := e.news(agents[name], parents)
		if !ok {
			agreed = append(agreed, name)
			continue
		}
		if !p.Update {
			p.Roles = answersTo(ctx, f.o.Service, name, p.Roles)
		}
		parents[name] = true
		f.pending.Agents = append(f.pending.Agents, p)
	}
	return f.agree(agreed)
}

func (f *files) agents(ctx context.Context) (map[mail.Name]*mail.Agent, error) {
	list, err := mail.Roster(ctx, f.o.Service)
	if err != nil {
		return nil, err
	}
	agents := make(map[mail.Name]*mail.Agent, len(list))
	for i := range list {
		agents[list[i].Name] = &list[i]
	}
	return agents, nil
}

// agree records that room and file agree on these sessions. If the room changes while no bridge runs, their lines
// are then known to be old, not a stranger's changes.
func (f *files) agree(names []mail.Name) error {
	var text [][]byte
	for _, name := range names {
		if e, ok := f.entries[name]; ok && f.settled[name] != e.line {
			f.settled[name] = e.line
			text = append(text, []byte(e.line))
		}
	}
	return f.agreed.Append(text...)
}

// takeReads processes lines of a reads file and returns the new reads.
func (f *files) takeReads(text [][]byte, archived bool) (fresh []reading) {
	for _, l := range text {
		f.working()
		r, err := decodeReading(l, f.known())
		if err != nil {
			f.rejected[1]++
			continue
		}
		if archived {
			f.moved[pair{r.message, r.reader}] = true
		}
		if f.note(r) {
			fresh = append(fresh, r)
		}
	}
	return fresh
}

// note records that a reader has read a message, and reports whether that is new.
func (f *files) note(r reading) bool {
	if slices.ContainsFunc(f.readers[r.message], func(o reading) bool { return o.reader == r.reader }) {
		return false
	}
	f.readers[r.message] = append(f.readers[r.message], r)
	return true
}

func (f *files) takeMessages(ctx context.Context) {
	if f.queue[2].again {
		clear(f.box)
	}
	f.rejected[2] += f.take(ctx, f.queue[2].lines, "")
	f.queue[2] = queue{}
}

// take processes lines of the mailbox, or of an archived month, and returns the number of malformed ones.
func (f *files) take(ctx context.Context, text [][]byte, month string) (rejected int) {
	all := make([]object, 0, len(text))
	writers := make(map[mail.Name]mail.Time)
	for _, l := range text {
		f.working()
		o, err := parseObject(l)
		if err != nil {
			rejected++
			continue
		}
		all = append(all, o)
		from, err := by(o.Text(senderNames[:]...), f.known())
		if name := from.Signer(); err == nil && from.Kind() == mail.ToAgent && !f.names.whole[name] {
			at, _ := parseTime(o.Text("timestamp"))
			writers[name] = max(at, writers[name])
		}
	}
	for name := range writers {
		f.names.add(name) // a writer is a session and can receive mail
	}
	known := f.known()
	for _, o := range all {
		f.working()
		m, readers, err := messageOf(o, known)
		if err != nil {
			rejected++
			continue
		}
		f.takeMessage(ctx, m, readers, month)
	}
	if month == "" {
		f.introduce(ctx, writers)
	}
	return rejected
}

// working reports progress every hundred lines. It is called for each line.
func (f *files) working() {
	if f.worked++; f.worked%100 == 0 && f.o.Working != nil {
		f.o.Working()
	}
}

// introduce registers sessions that are not on the roster. One that was silent for a day is not taken as alive.
func (f *files) introduce(ctx context.Context, writers map[mail.Name]mail.Time) {
	for name, at := range writers {
		f.working()
		p := mail.Presence{Name: name, Client: client, Roles: answersTo(ctx, f.o.Service, name, nil)}
		if mail.TimeOf(f.o.Now()).Sub(at) > directTTL {
			p.State = mail.Gone
		}
		f.pending.Agents = append(f.pending.Agents, p)
	}
}

func (f *files) takeMessage(ctx context.Context, m mail.Message, readers []mail.Address, month string) {
	if month == "" {
		f.box[m.ID] = true
	} else {
		f.months[m.ID] = month
	}
	if _, seen := f.parents[m.ID]; seen {
		return
	}
	f.parents[m.ID] = m.ReplyTo
	m.Thread = f.root(ctx, m.ReplyTo)
	for _, r := range readers {
		if f.note(reading{m.ID, r, m.Sent}) {
			f.pending.Receipts = append(f.pending.Receipts,
				mail.Receipt{Message: m.ID, Reader: r, Mark: mail.MarkRead})
		}
	}
	it := mail.Item{Message: m}
	for _, r := range f.readers[m.ID] {
		it.Deliveries = append(it.Deliveries, mail.Delivery{Address: r.reader, Agent: r.reader.Signer(),
			State: mail.Read, At: r.at})
	}
	if month != "" && len(it.Deliveries) == 0 && it.TTLSeconds == 0 {
		it.TTLSeconds = 1 // the archive is not polled: a message archived unread reaches no one
	}
	f.pending.Items = append(f.pending.Items, it)
}

// root returns the first message of a parent's thread.
func (f *files) root(ctx context.Context, parent mail.ID) mail.ID {
	if parent == "" {
		return ""
	}
	for range len(f.parents) + 1 { // a cycle has no root; it may be cut anywhere
		up, ok := f.parents[parent]
		if !ok {
			if it, err := f.o.Service.Message(ctx, parent); err == nil {
				return it.ThreadRoot()
			}
			return parent
		}
		if up == "" {
			return parent
		}
		parent = up
	}
	return parent
}

func sortedNames(agents map[mail.Name]*mail.Agent) []mail.Name {
	return slices.Sorted(maps.Keys(agents))
}
