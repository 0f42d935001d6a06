package claudeteams

import (
	"cmp"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pennypost/internal/base/confined"
)

// search looks for teams' files anywhere in a tree.
type search struct {
	root    confined.Dir
	configs map[string]config   // by path below root, or, for those outside the root, by absolute path
	inboxes map[string][]string // directories, and the file names of their inboxes, without ".json"
	teams   []capture
	broken  map[string]int // number of unreadable inboxes, by directory
	skipped []string       // paths with reasons
	others  int            // JSON files unrelated to teams
}

// findCaptures returns the teams in a directory, at any depth. An inbox is a file that holds a message or is in a
// directory "inboxes". A team's config.json is in its directory; a config captured separately is called
// config-NAME.json and may be anywhere.
func findCaptures(dir string) (*search, error) {
	s := &search{root: confined.At(dir), configs: make(map[string]config), inboxes: make(map[string][]string),
		broken: make(map[string]int)}
	if err := s.walk("."); err != nil {
		return nil, err
	}
	s.lookAround()
	used := make(map[string]bool)
	for _, below := range slices.Sorted(maps.Keys(s.inboxes)) {
		c := capture{dir: s.root, inboxes: below, bases: s.inboxes[below], name: filepath.Base(s.teamDir(below))}
		if path := s.configOf(below, c.name); path != "" {
			c.config, used[path] = s.configs[path], true
		}
		s.add(c)
	}
	for _, path := range slices.Sorted(maps.Keys(s.configs)) {
		if !used[path] && !filepath.IsAbs(path) {
			c := capture{dir: s.root, inboxes: filepath.Dir(path), name: nameIn(path), config: s.configs[path]}
			c.name = cmp.Or(c.name, filepath.Base(s.teamDir(c.inboxes)))
			s.add(c)
		}
	}
	return s, nil
}

func (s *search) add(c capture) {
	c.name = sanitise(cmp.Or(c.config.name, c.name))
	s.teams = append(s.teams, c)
}

// teamDir returns the absolute path of the directory of the team whose inboxes are at a path below the root.
func (s *search) teamDir(below string) string {
	path := s.root.Path(below)
	if filepath.Base(path) == inboxDir {
		return filepath.Dir(path)
	}
	return path
}

func (s *search) skip(path, why string) { s.skipped = append(s.skipped, path+": "+why) }

// walk searches a directory and those below it. Only the first must be readable.
func (s *search) walk(dir string) error {
	list, err := s.root.ReadDir(dir)
	if err != nil {
		return err
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	for _, e := range list {
		path := filepath.Join(dir, e.Name())
		base, isJSON := strings.CutSuffix(e.Name(), ".json")
		switch {
		case e.IsDir():
			if err := s.walk(path); err != nil {
				s.skip(s.root.Path(path), err.Error())
			}
		case e.Type()&fs.ModeSymlink != 0:
			s.skip(s.root.Path(path), "it is a link, and links are not followed")
		case isJSON && base != "" && base[0] != '.': // a killed writer leaves names with a dot
			s.take(dir, base)
		}
	}
	return nil
}

// take classifies a file by its content: an array is an inbox, and an object with a fitting file name is a config.
func (s *search) take(dir, base string) {
	path := filepath.Join(dir, base+".json")
	text, err := s.root.ReadFile(path)
	if err != nil {
		s.skip(s.root.Path(path), err.Error())
		return
	}
	b := newInbox(s.root, path, "", base)
	inPlace := filepath.Base(s.root.Path(dir)) == inboxDir
	config, isConfig := parseConfig(text)
	named := base+".json" == configFile || nameIn(path) != ""
	switch broken := b.take(text, 0) != nil; {
	case !broken && (inPlace || len(b.letters) > b.rejected()):
		s.inboxes[dir] = append(s.inboxes[dir], base)
	case !broken && len(b.letters) > 0:
		s.skip(b.path(), "none of its entries is a message; of the first, "+b.letters[0].why)
	case !broken:
		s.skip(b.path(), "it holds no message")
	case named && isConfig && config.isTeam():
		s.configs[path] = config
	case isConfig && !inPlace: // another program's, or a team's task
		s.others++
	case named:
		s.skip(b.path(), "it is not the config.json of a team")
	default:
		s.broken[dir]++
		s.skip(b.path(), "it is not a JSON array of messages")
	}
}

// nameIn returns the NAME of config-NAME.json, or "" for other files.
func nameIn(path string) string {
	name, ok := strings.CutPrefix(strings.TrimSuffix(filepath.Base(path), ".json"), "config-")
	if !ok {
		return ""
	}
	return name
}

// lookAround reads configs beside the root, for a root that holds only inboxes: config.json in the team's directory,
// or config-NAME.json there or in a directory "team".
func (s *search) lookAround() {
	root := s.root.Path(".")
	up := filepath.Dir(root)
	for _, dir := range []string{up, filepath.Join(up, "team"), filepath.Join(filepath.Dir(up), "team")} {
		list, _ := os.ReadDir(dir) // most do not exist
		for _, e := range list {
			own := e.Name() == configFile && dir == up && filepath.Base(root) == inboxDir
			if !own && nameIn(e.Name()) == "" {
				continue
			}
			if c, err := readConfig(confined.At(dir), e.Name()); err == nil && c.isTeam() {
				s.configs[filepath.Join(dir, e.Name())] = c
			}
		}
	}
}

// configOf returns the path of the config of the team whose inboxes are at a path: the one in the team's directory,
// or else the nearest one with the team's name, or "".
func (s *search) configOf(inboxes, name string) (best string) {
	most := -1
	for _, path := range slices.Sorted(maps.Keys(s.configs)) {
		whole := path
		if !filepath.IsAbs(path) {
			whole = s.root.Path(path)
		}
		if filepath.Dir(whole) == s.teamDir(inboxes) && filepath.Base(path) == configFile {
			return path
		}
		if near := shared(whole, s.teamDir(inboxes)); nameIn(path) == name && near > most {
			best, most = path, near
		}
	}
	return best
}

// shared returns the number of leading directories that two paths have in common.
func shared(a, b string) (n int) {
	as, bs := strings.Split(a, string(filepath.Separator)), strings.Split(b, string(filepath.Separator))
	for n < len(as) && n < len(bs) && as[n] == bs[n] {
		n++
	}
	return n
}
