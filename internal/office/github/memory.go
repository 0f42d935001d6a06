package github

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pennypost/internal/base/durable"
	"pennypost/internal/base/kept"
	"pennypost/internal/mail"
)

// most is the maximum number of pull requests, and of checks, in memory: the most recent ones.
const most = 2000

// memory is the saved state of a room's repositories.
type memory struct {
	Pulls  map[string]known     `json:"pulls"`  // by OWNER/NAME#NUMBER, in lower case
	Checks map[string]outcome   `json:"checks"` // by news.checkKey
	Cursor map[string]time.Time `json:"cursor"` // how far each list was read; see poll.go
	Begun  time.Time            `json:"begun"`  // first use of gh

	file string
}

// known is a pull request in memory.
type known struct {
	Branch string    `json:"branch,omitempty"` // "": a fork's
	Opener string    `json:"opener,omitempty"`
	Title  string    `json:"title,omitempty"`
	Heard  time.Time `json:"heard"`
}

// outcome is the last outcome of a check.
type outcome struct {
	Failed bool      `json:"failed,omitempty"`
	At     time.Time `json:"at"`
}

func open(dir string, room mail.RoomName) (*memory, error) {
	if err := durable.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	m := &memory{file: filepath.Join(dir, string(room)+".json")}
	err := kept.Load(m.file, m)
	m.Pulls, m.Checks, m.Cursor = orEmpty(m.Pulls), orEmpty(m.Checks), orEmpty(m.Cursor)
	return m, err
}

func orEmpty[V any](m map[string]V) map[string]V {
	if m == nil {
		return make(map[string]V)
	}
	return m
}

// save forgets the oldest excess entries and saves the rest.
func (m *memory) save() error {
	forget(m.Pulls, func(k known) time.Time { return k.Heard })
	forget(m.Checks, func(o outcome) time.Time { return o.At })
	return kept.Save(m.file, m)
}

func forget[V any](all map[string]V, at func(V) time.Time) {
	if len(all) <= most {
		return
	}
	keys := slices.SortedFunc(maps.Keys(all), func(a, b string) int { return at(all[a]).Compare(at(all[b])) })
	for _, key := range keys[:len(keys)-most] {
		delete(all, key)
	}
}

// learn records a pull request and its head.
func (m *memory) learn(in repo, p *pull) error {
	if p == nil || p.Number <= 0 {
		return lacks("pull_request")
	}
	k := known{Opener: p.User.Login, Title: p.Title, Heard: time.Now().UTC()}
	if p.Head.Repo != nil && strings.EqualFold(p.Head.Repo.Name, in.Name) {
		k.Branch = p.Head.Ref
	}
	m.Pulls[pullKey(in.Name, p.Number)] = k
	return nil
}

// about begins news about a pull request.
func (m *memory) about(repo string, number int, id string) *news {
	return &news{id: id, repo: repo, pull: number, branch: m.Pulls[pullKey(repo, number)].Branch}
}

// ofPulls begins news about a check, of the first listed pull request whose head is in this repository, judging by
// repository ids. GitHub lists none of forks.
func (m *memory) ofPulls(in repo, pulls []pull, id string) *news {
	for _, p := range pulls {
		if p.Number > 0 && p.Head.Repo != nil && p.Head.Repo.ID == in.ID && in.ID != 0 {
			return &news{id: id, repo: in.Name, pull: p.Number, branch: p.Head.Ref}
		}
	}
	return &news{id: id, repo: in.Name}
}

// onBranch returns the newest known pull request of a branch, or 0.
func (m *memory) onBranch(repo, branch string) (number int) {
	prefix := strings.ToLower(repo) + "#"
	for key, k := range m.Pulls {
		if rest, ok := strings.CutPrefix(key, prefix); ok && k.Branch == branch && branch != "" {
			number = max(number, atoi(rest))
		}
	}
	return number
}

// concluded returns n if a check has failed, or passes after a failure. A result older than the known outcome is
// late and is dropped.
func (m *memory) concluded(n *news, conclusion string) *news {
	last := m.Checks[n.checkKey()]
	switch conclusion {
	case "failure", "timed_out", "startup_failure", "action_required":
		n.failed, n.says = true, n.check+" failed"
	case "success":
		n.says = n.check + " passes again"
	default:
		return nil
	}
	if n.at.Before(last.At) || !n.failed && !last.Failed {
		if !n.at.Before(last.At) {
			m.Checks[n.checkKey()] = outcome{At: n.at}
		}
		return nil
	}
	return n
}
