package install

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"pennypost/internal/base/jsonx"
)

// trustedHook is a hook of ours as Codex identifies it: [hooks.state."KEY"] with trusted_hash = HASH in the person's
// config.toml says that it may run ("Trust all and continue" writes that, seen with 0.169.0).
type trustedHook struct{ event, key, hash string }

// codexHook is the hashed part of a hook, as compact JSON with its names in this order.
type codexHook struct {
	Async   bool   `json:"async"`
	Command string `json:"command"`
	Timeout int    `json:"timeout"`
	Type    string `json:"type"`
}

type codexGroup struct {
	Event   string      `json:"event_name"`
	Hooks   []codexHook `json:"hooks"`
	Matcher string      `json:"matcher,omitempty"`
}

// codexTrust returns our hooks as they will be once the files are written. If here, they are tables in config.toml,
// and tables is its text.
func codexTrust(files []file, here bool, tables []byte) []trustedHook {
	if here {
		m, err := decodeTOML(tables)
		if err != nil {
			return nil
		}
		events, _ := m["hooks"].(map[string]any)
		events = maps.Clone(events)
		delete(events, "state")
		return trustOf(files[0].path, []byte(raw(map[string]any{"hooks": events})))
	}
	before, err := read(files[1].path)
	if err != nil {
		return nil
	}
	text, err := files[1].put(before)
	if err != nil {
		return nil
	}
	return trustOf(files[1].path, text)
}

// trustOf returns our hooks in a hooks.json, or in a text of the same form.
func trustOf(path string, text []byte) (all []trustedHook) {
	var doc struct {
		Hooks map[string][]codexGroup `json:"hooks"`
	}
	if jsonx.UnmarshalLenient(text, &doc) != nil {
		return nil // Codex cannot read it either
	}
	for _, event := range slices.Sorted(maps.Keys(doc.Hooks)) {
		name := snake(event)
		for i, group := range doc.Hooks[event] {
			for j, h := range group.Hooks {
				if _, ours := hookOf(h.Command, "codex"); !ours {
					continue
				}
				sum := sha256.Sum256([]byte(raw(codexGroup{name, []codexHook{h}, group.Matcher})))
				all = append(all, trustedHook{event, fmt.Sprintf("%s:%s:%d:%d", path, name, i, j),
					"sha256:" + hex.EncodeToString(sum[:])})
			}
		}
	}
	return all
}

// snake converts the name of an event to Codex's spelling in hooks.state.
func snake(event string) string {
	return strings.ToLower(regexp.MustCompile(`\B[A-Z]`).ReplaceAllString(event, "_$0"))
}

// codexUntrusted returns the events of our hooks that Codex would not run.
func codexUntrusted(o *Options) (events []string) {
	files := codexFiles(o)
	m, err := tomlOf(filepath.Join(o.personal().codexDir(), "config.toml"))
	if err != nil {
		return nil // the file's own report says so
	}
	tables, _ := os.ReadFile(files[0].path)
	for _, t := range codexTrust(files, files[0].editor.(*tomlFile).here, tables) {
		if dig(m, "hooks", "state", t.key, "trusted_hash") != t.hash {
			events = append(events, t.event)
		}
	}
	return events
}

// putTrust records that our hooks are trusted.
func (f *tomlFile) putTrust(text []byte) ([]byte, error) {
	for _, t := range f.trust(text) {
		m, err := decodeTOML(text)
		if err != nil {
			return nil, err
		}
		switch old, there := dig(m, "hooks", "state", t.key, "trusted_hash").(string); {
		case old == t.hash:
			continue
		case there:
			text, err = setKey(text, tomlString(t.hash), "hooks", "state", t.key, "trusted_hash")
		default:
			text, err = f.add(text, "[hooks.state."+tomlString(t.key)+"]\ntrusted_hash = "+tomlString(t.hash)+"\n")
		}
		if err != nil {
			return nil, err
		}
	}
	return text, nil
}

// stripTrust removes the trust in our hooks, and then its table if that is empty, unless base has the table.
func (f *tomlFile) stripTrust(text, base []byte) (_ []byte, taken []piece, err error) {
	if f.trust == nil {
		return text, nil, nil
	}
	for _, t := range f.trust(text) {
		var cut []piece
		if text, cut, err = cutBelow(text, "hooks", "state", t.key); err != nil {
			return nil, nil, err
		}
		taken = append(taken, cut...)
	}
	if len(taken) == 0 {
		return text, nil, nil
	}
	was, _ := decodeTOML(base)
	is, err := decodeTOML(text)
	if err != nil {
		return nil, nil, err
	}
	left, there := dig(is, "hooks", "state").(map[string]any)
	if _, had := dig(was, "hooks", "state").(map[string]any); there && len(left) == 0 && !had {
		text, _, err = cutBelow(text, "hooks", "state")
	}
	return text, taken, err
}
