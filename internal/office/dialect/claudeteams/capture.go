package claudeteams

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"pennypost/internal/base/confined"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// took is the result of an import.
type took struct {
	Team     string `json:"team"`
	Dir      string `json:"dir"`
	Messages int    `json:"messages"`
	Members  int    `json:"members"`
	Added    int    `json:"added"`
	Skipped  int    `json:"skipped"`
	Rejected int    `json:"rejected"`
}

// importTeams implements "team import".
func importTeams(ctx context.Context, v *dialect.Invocation) error {
	dir := v.Path(v.Args[0])
	found, err := findCaptures(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return mail.Errorf(mail.NotFound, "no directory %s", dir)
	}
	if err != nil {
		return err
	}
	if len(found.teams) == 0 {
		return errors.Join(found.tell(v), mail.Errorf(mail.NotFound, "no team in %s: it has no config.json of a "+
			"team and no inbox with a message. Nothing was imported", dir))
	}
	svc, err := v.As(ctx, mail.User)
	if err != nil {
		return err
	}
	done := make([]took, len(found.teams))
	for i := range found.teams {
		if done[i], err = found.teams[i].importInto(ctx, svc, found); err != nil {
			return err
		}
	}
	if v.JSON {
		return errors.Join(v.WriteJSON(done), found.tell(v))
	}
	for _, d := range done {
		if err := v.Say(nil, "Team %s in %s: %d messages (%d added, %d known before), %d members, %d entries that "+
			"are not messages.", d.Team, d.Dir, d.Messages, d.Added, d.Skipped, d.Members, d.Rejected); err != nil {
			return err
		}
	}
	return found.tell(v)
}

// tell reports the skipped files and the reasons, one per line.
func (s *search) tell(v *dialect.Invocation) error {
	for _, line := range s.skipped {
		if _, err := fmt.Fprintln(v.Stderr, "Skipped: "+line); err != nil {
			return err
		}
	}
	if s.others > 0 {
		_, err := fmt.Fprintf(v.Stderr, "Skipped: %d other JSON files without an array.\n", s.others)
		return err
	}
	return nil
}

// importInto registers the members of a captured team as gone and imports its mail.
func (c *capture) importInto(ctx context.Context, svc mail.Service, found *search) (took, error) {
	out := took{Team: c.name, Dir: c.path(), Rejected: found.broken[c.inboxes]}
	roster, err := mail.Roster(ctx, svc)
	if err != nil {
		return out, err
	}
	called, _ := openNames(c.name, "", func(_ context.Context, native string) bool {
		return held(roster, c.name, native)
	})
	f := &files{
		opts: dialect.FilesOptions{Dir: c.dir, Service: svc}, team: c.name, names: called, config: c.config,
		written: &written{}, boxes: make(map[string]*box), asked: make(map[string]mail.ID),
		seen: make(map[mail.Name]string),
	}
	items, err := c.read(ctx, f, found, &out)
	if err != nil {
		return out, err
	}
	if err := c.register(ctx, svc, f, roster, &out); err != nil {
		return out, err
	}
	for part := range slices.Chunk(items, 500) {
		n, err := svc.Import(ctx, part)
		if err != nil {
			return out, err
		}
		out.Added, out.Skipped = out.Added+n.Added, out.Skipped+n.Skipped
	}
	out.Messages = len(items)
	return out, nil
}

// path is the directory of the team's inboxes.
func (c *capture) path() string { return c.dir.Path(c.inboxes) }

// read returns the messages of the captured inboxes.
func (c *capture) read(ctx context.Context, f *files, found *search, out *took) ([]mail.Item, error) {
	var all []arrival
	for _, base := range c.bases {
		b := f.boxIn(c.dir, c.inboxes, base)
		if err := b.load(); err != nil { // the search could read it
			return nil, err
		}
		if err := f.identify(ctx, b); err != nil {
			return nil, err
		}
		all = append(all, f.compare(ctx, b, &dialect.News{})...)
		out.Rejected += b.rejected() + b.odd
		found.tellRejected(b)
	}
	return f.sort(all), nil
}

// tellRejected reports the elements of an inbox that are not messages.
func (s *search) tellRejected(b *box) {
	for i := range b.letters {
		if l := &b.letters[i]; l.why != "" {
			s.skip(b.path(), fmt.Sprintf("its entry %d is not a message: %s", i+1, l.why))
		}
	}
	if b.odd > 0 {
		s.skip(b.path(), fmt.Sprintf("its owner %q is not a valid name", b.owner))
	}
}

// register adds to the roster the members, and former members that have mail.
func (c *capture) register(ctx context.Context, svc mail.Service, f *files, roster []mail.Agent, out *took) error {
	natives := c.config.names()
	for _, b := range f.boxes {
		if len(b.seen) > 0 && !slices.Contains(natives, b.owner) {
			natives = append(natives, b.owner)
		}
	}
	slices.Sort(natives)
	for _, native := range natives {
		name, err := f.names.of(ctx, native)
		if err != nil {
			continue
		}
		out.Members++
		if _, ok := dialect.OnRoster(roster, name); ok {
			continue // agents on the roster are not ours to change
		}
		if _, err := svc.Register(ctx, presence(name, f.team, native == c.config.lead, mail.Gone,
			roster)); err != nil {
			return err
		}
	}
	return nil
}

// capture is a saved copy of a team's files.
type capture struct {
	name    string // as in file names
	config  config
	dir     confined.Dir
	inboxes string   // the directory of the inboxes, below dir
	bases   []string // file names of the inboxes, without ".json"
}
