package main

import (
	"database/sql"
	"errors"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite"

	"pennypost/bench/drive"
)

// startSQLite opens a database that syncs at each commit. Its users share one connection for writing, as SQLite has
// one writer at a time; those who look have others.
func startSQLite(dir string) (drive.Open, func(), error) {
	path := "file:" + filepath.Join(dir, "mail.db") + "?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"
	writer, err := sql.Open("sqlite", path)
	if err != nil {
		return nil, nil, err
	}
	writer.SetMaxOpenConns(1)
	if _, err := writer.Exec(`CREATE TABLE mail (seq INTEGER PRIMARY KEY, sender TEXT, recipient TEXT, sent INTEGER,
		body TEXT, read INTEGER DEFAULT 0); CREATE INDEX unread ON mail (recipient, read)`); err != nil {
		return nil, nil, err
	}
	insert, err := writer.Prepare(`INSERT INTO mail (sender, recipient, sent, body) VALUES (?, ?, ?, ?)`)
	if err != nil {
		return nil, nil, err
	}
	reader, err := sql.Open("sqlite", path)
	if err != nil {
		return nil, nil, err
	}
	unread, err := reader.Prepare(`SELECT seq, sender, sent, body FROM mail WHERE recipient = ? AND read = 0
		ORDER BY seq LIMIT 50`)
	if err != nil {
		return nil, nil, err
	}
	open := func(name string) (drive.Client, error) { return &sqliteClient{name, insert, unread}, nil }
	stop := func() { _, _ = writer.Close(), reader.Close() }
	return open, stop, nil
}

type sqliteClient struct {
	name           string
	insert, unread *sql.Stmt
}

func (c *sqliteClient) Send(to, body string) error {
	_, err := c.insert.Exec(c.name, to, time.Now().UnixMilli(), body)
	return err
}

// Receive is unsupported: it would need polling.
func (c *sqliteClient) Receive() error { return errors.ErrUnsupported }

func (c *sqliteClient) Look() (n int, err error) {
	rows, err := c.unread.Query(c.name)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for ; rows.Next(); n++ {
		var seq, sent int64
		var sender, body string
		if err := rows.Scan(&seq, &sender, &sent, &body); err != nil {
			return n, err
		}
	}
	return n, rows.Err()
}

func (c *sqliteClient) Close() error { return nil }
