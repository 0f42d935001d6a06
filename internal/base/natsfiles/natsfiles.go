// Package natsfiles finds messages in the files of a NATS server: in its streams and in their Raft logs. A deleted
// message may be there for minutes. Only the process that has the files can look, so the servers of a cluster of
// Pennypost answer a Question about their own.
package natsfiles

import (
	"bytes"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"github.com/nats-io/nats.go"

	"pennypost/internal/base/durable"
)

// Subject is where servers are asked. Each answers for itself.
const Subject = "pennypost.files"

// MaxMessages is the most messages in a Question. A server does not answer a longer one.
const MaxMessages = 50

// Compressed is the length from which a server compresses a message in its Raft log, in bytes with the headers. Then
// its id may not be found. nats-server 2.15.2: compressThreshold in jetstream_cluster.go, which counts a bit more.
const Compressed = 8<<10 - 512

// Question asks which messages are in the files.
type Question struct {
	IDs []string `json:"ids"` // values of their Nats-Msg-Id headers
}

// Answer is a server's answer.
type Answer struct {
	Server string   `json:"server"` // its name
	Found  []string `json:"found"`  // those of the IDs that are in its files
}

// Search returns those of some messages that are in the files of a server, whose store directory is dir. If it finds
// some in the Raft logs, it does not look into the streams, which are larger.
func Search(dir string, ids []string) (found []string, err error) {
	for range 5 { // a file that the server deletes while we read may have been rewritten under another name
		for _, part := range []string{"_js_", "streams"} {
			if found, err = look(filepath.Join(dir, "jetstream"), part, ids); err != nil || len(found) > 0 {
				break
			}
		}
		if !os.IsNotExist(err) {
			return found, err
		}
	}
	return nil, err
}

// look searches one part of the files of each account.
func look(dir, part string, ids []string) (found []string, err error) {
	wanted := make(map[string]bool, len(ids))
	longest := 0
	for _, id := range ids {
		wanted[id] = true
		longest = max(longest, len(header)+len(id)+len(end))
	}
	buffer := make([]byte, longest+1<<20)
	accounts, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, account := range accounts {
		in := filepath.Join(dir, account.Name(), part)
		if _, err := os.Stat(in); os.IsNotExist(err) {
			continue
		}
		if err := filepath.WalkDir(in, func(file string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			return search(file, buffer, longest, func(text []byte) {
				for id := range idsIn(text) {
					if wanted[string(id)] {
						found = append(found, string(id))
						delete(wanted, string(id))
					}
				}
			})
		}); err != nil {
			return nil, err
		}
	}
	slices.Sort(found)
	return found, nil
}

var header, end = []byte(nats.MsgIdHdr + ": "), []byte("\r\n")

// idsIn yields the ids of the messages in a part of a file.
func idsIn(text []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for {
			_, after, ok := bytes.Cut(text, header)
			if !ok {
				return
			}
			id, _, ok := bytes.Cut(after, end)
			if ok && !yield(id) {
				return
			}
			text = after
		}
	}
}

// search calls f with all parts of a file, read into buffer. Consecutive parts overlap by the longest text to find.
func search(file string, buffer []byte, longest int, f func([]byte)) error {
	r, err := durable.Open(file)
	if err != nil {
		return err
	}
	defer r.Close()
	for kept := 0; ; {
		n, err := io.ReadFull(r, buffer[kept:])
		text := buffer[:kept+n]
		f(text)
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil
		}
		if err != nil {
			return err
		}
		kept = copy(buffer, text[len(text)-longest:]) // the buffer is full
	}
}
