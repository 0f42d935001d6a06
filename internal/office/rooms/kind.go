package rooms

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/pelletier/go-toml/v2"

	"pennypost/internal/base/durable"
	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
	"pennypost/internal/room/journal/jetstream"
	"pennypost/internal/room/journal/jsonl"
)

// roomJournal is a journal with files in the room's directory.
type roomJournal interface {
	journal.Journal
	Condition() journal.Condition
	Snapshot(context.Context) (*jsonl.Snapshot, error)
}

// kind is the content of journal.toml in the directory of a room. Without that file the journal is in the directory.
type kind struct {
	Kind string `toml:"kind"` // config.KindFile or config.KindJetStream: the directory then has a copy
	// Moved is the machine that has the room in a file. The files here are an older copy.
	Moved mail.Machine `toml:"moved,omitempty"`
}

const kindName = "journal.toml"

// readKind returns the kind of the room in a directory. The zero kind means that there is no room.
func readKind(dir string) (k kind, err error) {
	text, err := durable.ReadFile(filepath.Join(dir, kindName))
	if errors.Is(err, fs.ErrNotExist) {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			k.Kind = config.KindFile
		}
		return k, nil
	}
	if err == nil {
		err = toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(&k)
	}
	if err == nil && k.Kind != config.KindFile && k.Kind != config.KindJetStream {
		err = fmt.Errorf("unknown kind %q", k.Kind)
	}
	if err != nil {
		return k, mail.Errorf(mail.Unavailable, "the location of the room is unknown, because %s cannot be read: %w",
			filepath.Join(dir, kindName), err)
	}
	return k, nil
}

// writeKind durably notes the kind of the room in a directory, and makes the directory if it is missing.
func writeKind(dir string, k kind) error {
	if err := durable.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	text, err := toml.Marshal(k)
	if err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(dir, kindName),
		append([]byte("# The location of this room's journal; written by "+
			"pennypost rooms move.\n"), text...), 0o600)
}

// KindOf returns the kind of a room, or the kind that it would have if it were made.
func (o *Set) KindOf(name mail.RoomName) (k kind, err error) {
	switch k, err = readKind(o.Dir(name)); {
	case err != nil:
		return k, err
	case o.Cluster.has(name) && (k.Kind == "" || k.Moved != ""):
		return kind{Kind: config.KindJetStream}, nil
	case k.Kind == "":
		k.Kind = o.Config.Journal.Kind
	}
	return k, nil
}

// openJournal opens the journal of a room, and makes it if there is none.
func (o *Set) openJournal(e *Entry, name mail.RoomName, log *slog.Logger) (roomJournal, error) {
	k, err := o.KindOf(name)
	if err != nil {
		return nil, err
	}
	opts := jsonl.Options{Log: log, OnSync: func(events, bytes int, took time.Duration) {
		o.Metrics.synced(events, bytes, took)
		o.crowd.synced(events)
	}}
	switch {
	case k.Moved != "":
		return nil, mail.Errorf(mail.Unavailable, "%w. The old copy here is in %s",
			jetstream.MovedTo(string(name), k.Moved), o.Dir(name))
	case k.Kind != config.KindJetStream:
		return jsonl.Open(o.Dir(name), opts)
	case o.Cluster == nil:
		return nil, mail.Errorf(mail.Unavailable,
			"room %s is on NATS servers, but config.toml names none: set urls in [journal]", name)
	}
	e.clustered = true
	if err := writeKind(o.Dir(name), kind{Kind: config.KindJetStream}); err != nil {
		return nil, err
	}
	ctx := context.Background() // not the caller's: others wait for the same room
	if e.made {
		revive, cancel := context.WithTimeout(ctx, revivePatience)
		defer cancel()
		if err := o.Cluster.Revive(revive, string(name)); err != nil {
			o.dropUnused(name)
			return nil, &mail.Error{Code: mail.Unavailable, Msg: "room " + string(name) +
				" is new, and the NATS servers that must create it cannot be reached. Nothing was created or sent; " +
				"try again later",
				Err: err}
		}
	}
	o.Cluster.awake(name)
	j, err := o.Cluster.Open(ctx, string(name), o.Dir(name), opts)
	if err != nil {
		o.dropUnused(name)
		return nil, err
	}
	return j, nil
}
