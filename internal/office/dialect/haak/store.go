package haak

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pennypost/internal/base/confined"
	"pennypost/internal/base/lines"
)

// perm is for files that we make: people share them as they share their project.
const perm = 0o644

// dataDir returns where the files of a project lie.
func dataDir(project string) string { return filepath.Join(project, "data") }

// store is the three files and the archive.
type store struct {
	project                confined.Dir
	roster, reads, mailbox *lines.File
}

func openStore(dir confined.Dir) store {
	return store{
		project: dir,
		roster:  lines.Open(dir, "data/agent-roster.jsonl", perm),
		reads:   lines.Open(dir, "data/agent-mailbox-reads.jsonl", perm),
		mailbox: lines.Open(dir, "data/agent-mailbox.jsonl", perm),
	}
}

// close ends the use of the files to which others append.
func (s *store) close() error { return errors.Join(s.reads.Close(), s.mailbox.Close()) }

const archive = "data/agent-mailbox-archive"

const readsSuffix = "-reads"

// archived returns the months that have a file in the archive.
func (s *store) archived() ([]string, error) {
	list, err := s.project.ReadDir(archive)
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
	return lines.Open(s.project, archive+"/"+name+".jsonl", perm)
}

const monthLayout = "2006-01"
