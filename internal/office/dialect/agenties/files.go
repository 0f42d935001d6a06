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

// Paths below the project's directory.
const (
	mailboxFile = ".agenties/mailbox.jsonl"
	readsFile   = ".agenties/mailbox-reads.jsonl"
	archiveDir  = ".agenties/mailbox-archive"
)

// perm is the mode of files that we create. Mail is private to the user who runs the agents.
const perm fs.FileMode = 0o600

// files is the mailbox of a project.
//
// Messages are appended to mailbox.jsonl with read:false and not changed while we run. Reads are appended to
// mailbox-reads.jsonl, a file of ours beside it (A1); tidy moves them into the lines when the files are opened.
type files struct {
	opts    dialect.FilesOptions
	dir     confined.Dir
	mailbox *lines.File
	reads   *lines.File
	// trimmed, in our own directory, has lines that tidy removed from the mailbox and the room might not have.
	trimmed *lines.File

	// known has the read flag of every message seen in the mailbox. Removed lines stay in it, because another
	// program may be rewriting the file when we look.
	known    map[mail.ID]bool
	outdated map[mail.ID]bool // messages beyond the document's retention when the files were opened
	marks    map[mail.ID]*marks
	archived map[string]map[mail.ID]bool // by month, loaded when needed
	looked   bool                        // Read was called
	count    int                         // lines read
	rejected int                         // malformed lines
	why      string                      // the error of the first
}

// receipt is a line of mailbox-reads.jsonl.
type receipt struct {
	ID     mail.ID      `json:"id"`
	Reader mail.Address `json:"reader"`
	Read   bool         `json:"read"`
	All    bool         `json:"all,omitzero"` // with it, every recipient has read the message
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

// marked returns our latest mark by a reader on a message.
func (f *files) marked(id mail.ID, reader mail.Address) (r receipt, ok bool) {
	if m := f.marks[id]; m != nil {
		r, ok = m.by[reader]
	}
	return r, ok
}

func (f *files) Watch() []string { return []string{f.mailbox.Path()} }

func (f *files) Close() error { return errors.Join(f.mailbox.Close(), f.reads.Close()) }

func (f *files) Read(ctx context.Context) (dialect.News, error) {
	text, again, err := f.mailbox.Read()
	if err != nil {
		return dialect.News{}, err
	}
	if again {
		f.count, f.rejected = 0, 0
	}
	news, err := f.news(ctx, text)
	if err != nil { // the next Read starts over
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
	} else { // the call means that the room has the last Read's news
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
		return fmt.Sprintf("an invalid line of %s stays unchanged: %s", f.mailbox.Path(), f.why)
	default:
		return fmt.Sprintf("%d invalid lines of %s stay unchanged. The first: %s", f.rejected,
			f.mailbox.Path(), f.why)
	}
}

// pass is one reading of lines.
type pass struct {
	*files
	ctx    context.Context
	first  bool            // the first pass
	items  []mail.Item     // messages of this pass
	at     map[mail.ID]int // index in items
	leader mail.Name       // the agent meant by "orchestrator", looked up when needed
	news   dialect.News
}

// leftovers adds messages trimmed when the files were opened. The room has most of them.
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

// line processes one line. Of several with the same id the first gives the message and the last its read flag.
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

// item turns a message into news. Known lines come again when another program edits the file.
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

// complete replaces "orchestrator" and adds the readers of a message, as far as the files tell.
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

// age gives a message the file's retention time as its time to live. An older message is expired when it arrives: it
// is in the history, no one's to read, and its question is not open.
func (p *pass) age(it *mail.Item) {
	life, limited := policy.Retention{Age: p.opts.RetainAge}.Keeps()
	old := mail.TimeOf(p.opts.Now()).Sub(it.Sent)
	switch {
	case limited && old > life, p.outdated[it.ID] && old > 0:
		if !limited || old < life { // trimmed for the count
			life = old
		}
		it.TTLSeconds = max(1, int64(life/time.Second))
		for i := range it.Deliveries { // no read time was recorded; after the expiry it would count as never read
			it.Deliveries[i].At = it.Sent
		}
		if it.Type.Asks() {
			it.Settled = &mail.Settlement{Message: it.ID, By: mail.FromSystem, As: mail.Withdrawn,
				At: it.Sent.Add(life)}
		}
	case limited && mail.RolesAlone(it.To):
		it.TTLSeconds = int64(life / time.Second) // as the room gives to mail sent here
	}
}

// cast replaces "orchestrator" with its agent as the sender and among the readers of a message.
func cast(it *mail.Item, orchestrator mail.Name) {
	if it.From == mail.ToOrchestrator {
		it.From = mail.AgentAddress(orchestrator)
	}
	it.Deliveries = readers(it, orchestrator)
}

// readers returns the deliveries of a message with a read flag, for the recipients that the line names: a role and a
// broadcast name none.
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

// noteSent adds read receipts for a line with a read flag, except for readers in our own file: the room made those.
// A new message brings its reads along; on a known message another program set the flag while we were away.
func (p *pass) noteSent(it *mail.Item) {
	for _, d := range readers(it, p.leader) {
		if _, ours := p.marked(it.ID, mail.AgentAddress(d.Agent)); !ours {
			p.news.Receipts = append(p.news.Receipts, mail.Receipt{Message: it.ID, Reader: mail.AgentAddress(d.Agent),
				Mark: mail.MarkRead})
		}
	}
}

// changed adds receipts for an edited line: its read flag applies to every recipient.
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

// archive returns the archive file of a month.
func (f *files) archive(month string) *lines.File {
	return lines.Open(f.dir, archiveDir+"/"+month+".jsonl", perm)
}

func monthOf(t mail.Time) string { return t.Std().Format("2006-01") }
