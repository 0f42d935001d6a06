package daemon

import (
	"os"
	"sync"

	"pennypost/internal/base/durable"
)

// maxLog is the size at which a log file is put aside: two of that size cover a few weeks, and are no burden.
const maxLog = 1 << 20

// LogFile is the log of a post office that runs in the background. When it has grown to 1 MiB it is renamed to "….1",
// which replaces the previous one, and a new file is begun.
type LogFile struct {
	path string

	mu   sync.Mutex
	file *os.File
	size int64
}

// OpenLog opens the log file at path for appending.
func OpenLog(path string) (*LogFile, error) {
	l := &LogFile{path: path}
	return l, l.openLocked()
}

func (l *LogFile) openLocked() error {
	f, err := durable.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return err
	}
	l.file, l.size = f, info.Size()
	return nil
}

// Write implements io.Writer.
func (l *LogFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size+int64(len(p)) > maxLog && l.size > 0 {
		l.file.Close()
		// If the file cannot be put aside, it keeps growing: better than no log.
		_ = os.Rename(l.path, l.path+".1")
		if err := l.openLocked(); err != nil {
			return 0, err
		}
	}
	n, err := l.file.Write(p)
	l.size += int64(n)
	return n, err
}

// Close closes the file.
func (l *LogFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}
