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

// perm is the mode of files that we create: people share them like the rest of their project.
const perm = 0o644

// dataDir returns the directory of a project's files.
func dataDir(project string) string { return filepath.Join(project, "data") }

// store holds the three files and the archive.
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

// close closes the files that others append to.
func (s *store) close() error { return errors.Join(s.reads.Close(), s.mailbox.Close()) }

const archive = "data/agent-mailbox-archive"

const readsSuffix = "-reads"

// archived returns the months that have an archive file.
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

// month returns the archive file of a month: "2026-03" or "2026-03-reads".
func (s *store) month(name string) *lines.File {
	return lines.Open(s.project, archive+"/"+name+".jsonl", perm)
}

const monthLayout = "2006-01"
