package haak

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pennypost/internal/lines"
)

// perm is for files that we make: people share them as they share their project.
const perm = 0o644

// dataDir returns where the files of a project lie.
func dataDir(project string) string { return filepath.Join(project, "data") }

// store is the three files and the archive.
type store struct {
	dir                    string
	roster, reads, mailbox *lines.File
}

func openStore(project string) store {
	dir := dataDir(project)
	return store{
		dir:     dir,
		roster:  lines.Open(filepath.Join(dir, "agent-roster.jsonl"), perm),
		reads:   lines.Open(filepath.Join(dir, "agent-mailbox-reads.jsonl"), perm),
		mailbox: lines.Open(filepath.Join(dir, "agent-mailbox.jsonl"), perm),
	}
}

func (s *store) archive() string { return filepath.Join(s.dir, "agent-mailbox-archive") }

const readsSuffix = "-reads"

// archived returns the months that have a file in the archive.
func (s *store) archived() ([]string, error) {
	list, err := os.ReadDir(s.archive())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var months []string
	for _, f := range list {
		month, _ := strings.CutSuffix(f.Name(), ".jsonl")
		month = strings.TrimSuffix(month, readsSuffix)
		if _, err := time.Parse(monthLayout, month); err == nil && !slices.Contains(months, month) {
			months = append(months, month)
		}
	}
	return months, err
}

// month returns the archive's file of a month: "2026-03", or "2026-03-reads".
func (s *store) month(name string) *lines.File {
	return lines.Open(filepath.Join(s.archive(), name+".jsonl"), perm)
}

const monthLayout = "2006-01"
