package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"pennypost/internal/mail"
)

// FindRoom returns the room that a command means: the named one, else $PENNYPOST_ROOM, else that of the project's
// file, else the room of the Git repository around dir, else "default".
func FindRoom(named string, getenv func(string) string, dir string) (mail.RoomName, error) {
	if room := cmp.Or(named, getenv("PENNYPOST_ROOM")); room != "" {
		return mail.ParseRoom(room)
	}
	project, err := FindProject(dir)
	if err != nil || project.Room != "" {
		return project.Room, err
	}
	return OwnRoom(dir), nil
}

// OwnRoom returns the room of a directory without a ProjectFile: that of the Git repository around it, else
// "default".
func OwnRoom(dir string) mail.RoomName {
	if common := commonDir(dir); common != "" {
		return repositoryRoom(common, originURL(common))
	}
	return mail.DefaultRoom
}

// repositoryRoom returns a repository's room name: its directory, so that a person recognises it, and a hash of its
// origin (or of its path, if it has none), so that two repositories of one name do not share their mail.
func repositoryRoom(common, origin string) mail.RoomName {
	key := normalURL(origin)
	if key == "" {
		key = filepath.ToSlash(common)
	}
	sum := sha256.Sum256([]byte(key))
	suffix := "-" + hex.EncodeToString(sum[:3])
	if room, err := mail.ParseRoom(roomWord(repositoryDir(common)) + suffix); err == nil {
		return room
	}
	return mail.RoomName("repository" + suffix) // for a name that Windows reserves
}

// repositoryDir returns the name of a repository's directory: "x" for x/.git, x/.bare and x.git.
func repositoryDir(common string) string {
	base := filepath.Base(common)
	if strings.HasPrefix(base, ".") {
		base = filepath.Base(filepath.Dir(common))
	}
	return strings.TrimSuffix(base, ".git")
}

// normalURL removes from a URL the parts that may differ for the same repository: credentials, a trailing slash,
// ".git".
func normalURL(url string) string {
	scheme, rest, ok := strings.Cut(url, "://")
	if ok {
		host, path, _ := strings.Cut(rest, "/")
		if _, h, ok := strings.Cut(host, "@"); ok {
			host = h
		}
		url = scheme + "://" + host + "/" + path
	}
	return strings.TrimSuffix(strings.TrimRight(url, "/"), ".git")
}

// maxWord leaves room for the hash in the 100 bytes of a room's name.
const maxWord = 90

// roomWord turns any directory name into the beginning of a room's name.
func roomWord(dir string) string {
	word := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '.' || r == '_' || r == '-' {
			return r
		}
		return '-'
	}, strings.ToValidUTF8(dir, "-"))
	word = strings.TrimLeftFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for len(word) > maxWord {
		_, size := utf8.DecodeLastRuneInString(word)
		word = word[:len(word)-size]
	}
	if word = strings.TrimRight(word, "-"); word == "" {
		return "repository"
	}
	return word
}
