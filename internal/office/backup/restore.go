package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"pennypost/internal/base/durable"
	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jsonl"
)

// Restored is the result of Restore.
type Restored struct {
	Manifest Manifest
	Rooms    []Checked // in the order of the manifest
}

// Checked is a restored room with the result of its verification. Its problems are those that it had when it was
// backed up.
type Checked struct {
	Room         mail.RoomName     `json:"room"`
	Verification mail.Verification `json:"verification"`
	// Raw says why a room could not be opened when it was backed up, and, if it cannot be opened here either, why not;
	// its files are unchanged copies. Empty: it could be opened.
	Raw string `json:"raw,omitempty"`
}

// Restore restores home from a backup. home must be an empty directory or not exist; otherwise the error has code
// Conflict. An archive that is incomplete or not a backup is an error of code Invalid. After any error home is
// unchanged.
//
// Everything is unpacked, checked and verified in a directory next to home, which then replaces home in one step. If
// home is a link, that is next to the link's target.
func Restore(ctx context.Context, home config.Home, from io.Reader) (r Restored, err error) {
	if err := checkFree(home); err != nil {
		return r, err
	}
	place, err := behindLinks(string(home))
	if err != nil {
		return r, err
	}
	part := place + ".part"
	if err := durable.MkdirAll(filepath.Dir(part), 0o700); err != nil {
		return r, err
	}
	if err := os.Mkdir(part, 0o700); errors.Is(err, os.ErrExist) {
		return r, mail.Errorf(mail.Conflict,
			"%s exists: another restore is running or was interrupted. Nothing was changed. If none is running, "+
				"remove that directory", part)
	} else if err != nil {
		return r, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(part))
		}
	}()
	if r.Manifest, err = unpack(part, from); err != nil {
		return r, err
	}
	if r.Rooms, err = verify(ctx, config.Home(part), r.Manifest.Rooms); err != nil {
		return r, err
	}
	return r, takePlace(part, place)
}

// checkFree refuses a home that is in use.
func checkFree(home config.Home) error {
	if conn, err := net.DialTimeout("unix", home.Socket(), time.Second); err == nil {
		conn.Close()
		return mail.Errorf(mail.Conflict, "a post office is running at %s; restore into an empty directory. "+
			"Nothing was changed", home)
	}
	names, err := os.ReadDir(string(home))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if len(names) > 0 {
		return mail.Errorf(mail.Conflict, "%s is not empty; restore into an empty directory. Nothing was "+
			"changed", home)
	}
	return nil
}

// behindLinks returns the directory that a path leads to, or the path itself if it does not exist.
func behindLinks(path string) (string, error) {
	place, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, os.ErrNotExist) {
		return place, err
	}
	if _, err := os.Lstat(path); err == nil {
		return "", mail.Errorf(mail.Conflict, "%s is a dangling symbolic link. Nothing was changed. Create its "+
			"target directory, or remove the link", path)
	}
	return path, nil
}

// verify opens every room, which recovers it as after a kill, and checks it.
func verify(ctx context.Context, home config.Home, rooms []Room) ([]Checked, error) {
	var all []Checked
	for _, room := range rooms {
		v, err := verifyRoom(ctx, home, room)
		switch {
		case err != nil && (room.Raw == "" || ctx.Err() != nil):
			return nil, fmt.Errorf("verify room %s of the backup: %w", room.Name, err)
		case err != nil:
			room.Raw += "; it cannot be opened after the restore either: " + err.Error()
		}
		all = append(all, Checked{room.Name, v, room.Raw})
	}
	return all, nil
}

func verifyRoom(ctx context.Context, home config.Home, room Room) (v mail.Verification, err error) {
	if _, err := mail.ParseRoom(string(room.Name)); err != nil {
		return v, err
	}
	dir := filepath.Join(home.Rooms(), string(room.Name))
	if _, err := os.Stat(dir); err != nil { // Open would make it
		return v, damaged("room %s is missing", room.Name)
	}
	j, err := jsonl.Open(dir, jsonl.Options{})
	if err != nil {
		return v, err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	if last := j.Last(); last != room.Seq && room.Raw == "" {
		return v, damaged("its last event is %d, but the manifest says %d", last, room.Seq)
	}
	return j.Verify(ctx)
}

// takePlace renames part to home, which is an empty directory or missing, and not a link.
func takePlace(part, home string) error {
	if err := os.Remove(home); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err // it was filled meanwhile, or a disk is mounted there
	}
	if err := os.Rename(part, home); err != nil {
		return err
	}
	return durable.SyncDir(filepath.Dir(home))
}
