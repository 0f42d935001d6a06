package agenties

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"pennypost/internal/base/confined"
	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/lines"
	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
	"pennypost/internal/policy"
)

// Places below the project's directory.
const (
	mailboxFile = ".agenties/mailbox.jsonl"
	readsFile   = ".agenties/mailbox-reads.jsonl"
	archiveDir  = ".agenties/mailbox-archive"
)

// perm is what files get that we make. Mail is for whoever runs the agents.
const perm fs.FileMode = 0o600

// files is the mailbox of a project.
//
// Messages are appended to mailbox.jsonl with read:false and never touched while we run. Who has read what is appended
// to mailbox-reads.jsonl, a file of ours beside it (A1); tidy puts it into the lines when the files are opened.
type files struct {
	opts    dialect.FilesOptions
	dir     confined.Dir
	mailbox *lines.File
	reads   *lines.File
	// trimmed has, in our own directory, lines that tidy took out of the mailbox and that the room may not know yet.
	trimmed *lines.File

	// known says of each message that ever stood in the mailbox while we looked whether its line calls it read. What
	// others take out stays in it: somebody who writes the file anew may have got half way when we look.
	known    map[mail.ID]bool
	outdated map[mail.ID]bool // those that are beyond what the document has kept, when the files were opened
	marks    map[mail.ID]*marks
	archived map[string]map[mail.ID]bool // by month, as far as somebody asked
	looked   bool                        // Read was called
	count    int                         // lines that were read
	rejected int                         // how many of them cannot be understood
	why      string                      // what is wrong with the first
}

// receipt is a line of mailbox-reads.jsonl.
type receipt struct {
	ID     mail.ID      `json:"id"`
	Reader mail.Address `json:"reader"`
	Read   bool         `json:"read"`
	All    bool         `json:"all,omitzero"` // with this, everybody whom the message is for has read it
	At     mail.Time    `json:"at"`
}

// marks are our marks on one message.
type marks struct {
	by   map[mail.Address]receipt // the latest of each reader
	last receipt                  // the latest of all
}

func open(o dialect.FilesOptions) (dialect.Files, error) {
	dir := o.Dir
	f := &files{
		opts:     o,
		dir:      dir,
		mailbox:  lines.Open(dir, mailboxFile, perm),
		reads:    lines.Open(dir, readsFile, perm),
		trimmed:  lines.Open(confined.At(o.State), "trimmed.jsonl", perm),
		known:    make(map[mail.ID]bool),
		outdated: make(map[mail.ID]bool),
		archived: make(map[string]map[mail.ID]bool),
	}
	if err := f.loadMarks(); err != nil {
		return nil, err
	}
	if err := f.tidy(); err != nil {
		return nil, err
	}
	return f, nil
}

func (f *files) loadMarks() error {
	text, _, err := f.reads.Read()
	if err != nil {
		return err
	}
	f.marks = make(map[mail.ID]*marks)
	for _, line := range text {
		var r receipt
		if jsonx.UnmarshalLenient(line, &r) == nil && r.ID != "" {
			f.mark(r)
		}
	}
	return nil
}

func (f *files) mark(r receipt) {
	m := f.marks[r.ID]
	if m == nil {
		m = &marks{by: make(map[mail.Address]receipt)}
		f.marks[r.ID] = m
	}
	m.by[r.Reader], m.last = r, r
}

// marked returns our latest mark of a reader on a message.
func (f *files) marked(id mail.ID, reader mail.Address) (r receipt, ok bool) {
	if m := f.marks[id]; m != nil {
		r, ok = m.by[reader]
	}
	return r, ok
}

// Watch implements dialect.Files.
func (f *files) Watch() []string { return []string{f.mailbox.Path()} }

// Close implements dialect.Files.
func (f *files) Close() error { return errors.Join(f.mailbox.Close(), f.reads.Close()) }

// Read implements dialect.Files.
func (f *files) Read(ctx context.Context) (dialect.News, error) {
	text, again, err := f.mailbox.Read()
	if err != nil {
		return dialect.News{}, err
	}
	if again {
		f.count, f.rejected = 0, 0
	}
	news, err := f.news(ctx, text)
	if err != nil { // the next look is at the whole file
		f.mailbox.Forget()
		f.count, f.rejected = 0, 0
	}
	return news, err
}

func (f *files) news(ctx context.Context, text [][]byte) (dialect.News, error) {
	p := pass{files: f, ctx: ctx, first: !f.looked, at: make(map[mail.ID]int)}
	var err error
	if p.first {
		err = p.leftovers()
	} else { // and so the room has what the last Read said
		err = f.confirmed()
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return dialect.News{}, err
	}
	for _, line := range text {
		p.line(line)
	}
	for i := range p.items {
		if err := p.item(&p.items[i]); err != nil {
			return dialect.News{}, err
		}
	}
	for i := range p.items {
		f.known[p.items[i].ID] = p.items[i].Read
	}
	f.looked = true
	p.news.Rejected, p.news.Notice = f.rejected, f.notice()
	return p.news, nil
}

func (f *files) notice() string {
	switch f.rejected {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("a line of %s cannot be understood and stays as it is: %s", f.mailbox.Path(), f.why)
	default:
		return fmt.Sprintf("%d lines of %s cannot be understood and stay as they are. The first: %s", f.rejected,
			f.mailbox.Path(), f.why)
	}
}

// pass is one reading of lines.
type pass struct {
	*files
	ctx    context.Context
	first  bool            // nothing was read before
	items  []mail.Item     // what was read
	at     map[mail.ID]int // where in items
	leader mail.Name       // who is meant by "orchestrator", once somebody asked
	news   dialect.News
}

// leftovers adds what was trimmed when the files were opened. The room knows most of it.
func (p *pass) leftovers() error {
	text, _, err := p.trimmed.Again().Read()
	for _, line := range text {
		if it, bad := translate(line); bad == nil && err == nil {
			p.outdated[it.ID] = true
			err = p.complete(&it)
			p.news.Items = append(p.news.Items, it)
		}
	}
	return err
}

// line takes in one line. Of several with the same id the first says what the message is and the last whether it was
// read.
func (p *pass) line(line []byte) {
	p.count++
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	it, err := translate(line)
	if err != nil {
		if p.rejected++; p.rejected == 1 {
			p.why = wording.Clip(fmt.Sprintf("line %d: %v", p.count, err), 300)
		}
		return
	}
	if i, ok := p.at[it.ID]; ok {
		p.items[i].Read = it.Read
		return
	}
	p.at[it.ID] = len(p.items)
	p.items = append(p.items, it)
}

// item decides what a message that was read means for the room. Lines that are known come again when somebody edited
// the file.
func (p *pass) item(it *mail.Item) error {
	switch was, known := p.known[it.ID]; {
	case !known || p.first:
		if err := p.complete(it); err != nil {
			return err
		}
		p.news.Items = append(p.news.Items, *it)
		p.noteSent(it)
	case was != it.Read:
		return p.changed(it)
	}
	return nil
}

func translate(line []byte) (mail.Item, error) {
	m, err := parse(line)
	if err != nil {
		return mail.Item{}, err
	}
	return m.item()
}

// complete adds who is meant by "orchestrator", and who has read a message, as far as the files say.
func (p *pass) complete(it *mail.Item) error {
	named := it.From == mail.ToOrchestrator || slices.Contains(it.To, mail.ToOrchestrator)
	if named && p.leader == "" {
		lead, err := findLeaders(p.ctx, p.opts.Service)
		if err != nil {
			return err
		}
		p.leader = lead.first()
	}
	cast(it, p.leader)
	p.age(it)
	m := p.marks[it.ID]
	if m == nil {
		return nil
	}
	for _, reader := range slices.Sorted(maps.Keys(m.by)) {
		it.Deliveries = slices.DeleteFunc(it.Deliveries, func(d mail.Delivery) bool {
			return d.Agent == reader.Signer()
		})
		if r := m.by[reader]; r.Read {
			it.Deliveries = append(it.Deliveries, mail.Delivery{Address: reader, Agent: reader.Signer(),
				State: mail.Read, At: r.At})
		}
	}
	return nil
}

// age says of a message for how long the file keeps it. One that is beyond that when it comes has expired then: it is
// in the history, and nobody's to read. What it asked is not open either.
func (p *pass) age(it *mail.Item) {
	life, limited := policy.Retention{Age: p.opts.RetainAge}.Keeps()
	old := mail.TimeOf(p.opts.Now()).Sub(it.Sent)
	switch {
	case limited && old > life, p.outdated[it.ID] && old > 0:
		if !limited || old < life { // the file had too many
			life = old
		}
		it.TTLSeconds = max(1, int64(life/time.Second))
		for i := range it.Deliveries { // when it was read nobody wrote down; later, it would count as never read
			it.Deliveries[i].At = it.Sent
		}
		if it.Type.Asks() {
			it.Settled = &mail.Settlement{Message: it.ID, By: mail.FromSystem, As: mail.Withdrawn,
				At: it.Sent.Add(life)}
		}
	case limited && mail.RolesAlone(it.To):
		it.TTLSeconds = int64(life / time.Second) // as the room gives to what is sent here
	}
}

// cast puts into a message who is meant by "orchestrator": as its sender, and among those who have read it.
func cast(it *mail.Item, orchestrator mail.Name) {
	if it.From == mail.ToOrchestrator {
		it.From = mail.AgentAddress(orchestrator)
	}
	it.Deliveries = readers(it, orchestrator)
}

// readers returns the deliveries of a message that its line calls read, as far as the line says by whom: a role and a
// broadcast name nobody.
func readers(it *mail.Item, orchestrator mail.Name) []mail.Delivery {
	if !it.Read {
		return nil
	}
	var out []mail.Delivery
	for _, a := range it.To {
		d := mail.Delivery{Address: a, State: mail.Read}
		switch {
		case a == mail.ToOrchestrator:
			d.Agent = orchestrator
		case a == mail.ToUser, a.Kind() == mail.ToAgent:
			d.Agent = a.Signer()
		default:
			continue
		}
		out = append(out, d)
	}
	return out
}

// noteSent adds the marks of a line that calls a message read, unless our own file says who did: those the room made
// itself. A message that is new to the room brings them along; others were marked by somebody while we did not look.
func (p *pass) noteSent(it *mail.Item) {
	for _, d := range readers(it, p.leader) {
		if _, ours := p.marked(it.ID, mail.AgentAddress(d.Agent)); !ours {
			p.news.Receipts = append(p.news.Receipts, mail.Receipt{Message: it.ID, Reader: mail.AgentAddress(d.Agent),
				Mark: mail.MarkRead})
		}
	}
}

// changed adds the marks of a line that somebody edited: what its one word says holds for everybody whom the message
// is for.
func (p *pass) changed(it *mail.Item) error {
	known, err := p.opts.Service.Message(p.ctx, it.ID)
	if mail.CodeOf(err) == mail.NotFound {
		return nil
	}
	mark := mail.MarkUnread
	if it.Read {
		mark = mail.MarkRead
	}
	for _, d := range known.Deliveries {
		if d.Agent != "" {
			p.news.Receipts = append(p.news.Receipts, mail.Receipt{Message: it.ID, Reader: mail.AgentAddress(d.Agent),
				Mark: mark})
		}
	}
	return err
}

// archive returns where the messages of a month go.
func (f *files) archive(month string) *lines.File {
	return lines.Open(f.dir, archiveDir+"/"+month+".jsonl", perm)
}

func monthOf(t mail.Time) string { return t.Std().Format("2006-01") }
