package claudeteams

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"pennypost/internal/base/confined"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// capture is a team's files as somebody kept them.
type capture struct {
	name    string // as it stands in file names
	config  config
	dir     confined.Dir
	inboxes string // the directory below it in which they are
	flat    bool   // config.json lies among them, if there is one
	broken  error  // what is wrong with the config
}

// findCaptures returns the teams in a directory: the directory itself, if it is one, or else those below it.
func findCaptures(dir string) ([]capture, error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	c := capture{name: filepath.Base(dir), dir: confined.Dir(dir), inboxes: ".", flat: true}
	if exists(c.dir, inboxDir) {
		c.inboxes, c.flat = inboxDir, false
	}
	beside := confined.Dir(filepath.Dir(dir))
	for _, read := range []func() (config, error){
		func() (config, error) { return readConfig(c.dir, configFile) },
		func() (config, error) { return readConfig(beside, "config-"+c.name+".json") },
	} {
		if c.config, err = read(); err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			c.broken = err
		}
	}
	if c.config.object != nil || hasInbox(c.dir, c.inboxes) {
		if c.config.name != "" {
			c.name = c.config.name
		}
		c.name = sanitise(c.name)
		return []capture{c}, nil
	}
	var all []capture
	for _, d := range list {
		if !d.IsDir() {
			continue
		}
		below, err := findCaptures(filepath.Join(dir, d.Name()))
		if err != nil {
			return nil, err
		}
		all = append(all, below...)
	}
	return all, nil
}

// hasInbox reports whether a file in a directory is an array that holds a message.
func hasInbox(dir confined.Dir, below string) bool {
	bases, err := inboxNames(dir, below)
	return err == nil && slices.ContainsFunc(bases, func(base string) bool {
		b := newInbox(dir, filepath.Join(below, base+".json"), "", base)
		_, err := b.load()
		return err == nil && len(b.letters) > b.rejected()
	})
}

// took is what an import came to.
type took struct {
	Team     string `json:"team"`
	Messages int    `json:"messages"`
	Members  int    `json:"members"`
	Added    int    `json:"added"`
	Skipped  int    `json:"skipped"`
	Rejected int    `json:"rejected"`
}

// importTeams implements "team import".
func importTeams(ctx context.Context, v *dialect.Invocation) error {
	dir := within(v.Dir, v.Args[0])
	all, err := findCaptures(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return mail.Errorf(mail.NotFound, "there is no directory %s", dir)
	}
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return mail.Errorf(mail.NotFound, "%s holds no team: no config.json, and no inbox with a message", dir)
	}
	svc, err := v.As(ctx, mail.User)
	if err != nil {
		return err
	}
	done := make([]took, len(all))
	for i := range all {
		if done[i], err = all[i].importInto(ctx, svc, v); err != nil {
			return err
		}
	}
	if v.JSON {
		return answer(v, done, "")
	}
	for _, d := range done {
		if err := answer(v, nil,
			"Team %s: %d messages (%d added, %d known before), %d members, %d pieces that are no messages.", d.Team,
			d.Messages, d.Added, d.Skipped, d.Members, d.Rejected); err != nil {
			return err
		}
	}
	return nil
}

// importInto registers the members of a captured team, who are gone, and imports its mail.
func (c *capture) importInto(ctx context.Context, svc mail.Service, v *dialect.Invocation) (took, error) {
	out := took{Team: c.name}
	if c.broken != nil {
		out.Rejected++
		fmt.Fprintln(v.Stderr, c.broken)
	}
	roster, err := mail.Roster(ctx, svc)
	if err != nil {
		return out, err
	}
	called, _ := openNames(c.name, "", func(_ context.Context, native string) bool {
		return held(roster, c.name, native)
	})
	f := &files{
		opts: dialect.FilesOptions{Dir: string(c.dir)}, team: c.name, names: called, config: c.config,
		written: &written{}, boxes: make(map[string]*box), asked: make(map[string]mail.ID),
		seen: make(map[mail.Name]string),
	}
	items, err := c.read(ctx, f, v, &out)
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

// read returns the messages of the captured inboxes.
func (c *capture) read(ctx context.Context, f *files, v *dialect.Invocation, out *took) ([]mail.Item, error) {
	bases, err := inboxNames(c.dir, c.inboxes)
	if err != nil {
		return nil, err
	}
	var all []arrival
	for _, base := range bases {
		if c.flat && base == "config" {
			continue
		}
		b := f.boxIn(c.dir, c.inboxes, base)
		if err := b.load(); err != nil {
			out.Rejected++
			fmt.Fprintln(v.Stderr, err)
			continue
		}
		all = append(all, f.compare(ctx, b, &dialect.News{})...)
		out.Rejected += b.rejected() + b.odd
	}
	return f.sort(all), nil
}

// register puts the members on the roster, and those who have mail but are members no more.
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
		if _, ok := onRoster(roster, name); ok {
			continue // who is there already is not ours to change
		}
		if _, err := svc.Register(ctx, presence(name, f.team, native == c.config.lead, mail.Gone,
			roster)); err != nil {
			return err
		}
	}
	return nil
}
