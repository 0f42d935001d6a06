package bridge

import (
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"pennypost/internal/base/pause"
)

// watcher signals changes in the directories of files. If the system cannot report changes, it signals nothing: its
// user also polls.
type watcher struct {
	dirty pause.Nudge // given on changes
	fs    *fsnotify.Watcher
	dirs  map[string]bool
	done  chan struct{}
}

// settle is how long a burst of changes may continue before a look.
const settle = 10 * time.Millisecond

func newWatcher(log *slog.Logger, dirty pause.Nudge) *watcher {
	w := &watcher{dirty: dirty, dirs: make(map[string]bool), done: make(chan struct{})}
	var err error
	if w.fs, err = fsnotify.NewWatcher(); err != nil {
		log.Info("polling for file changes: no change notifications", "err", err)
		close(w.done)
		return w
	}
	go w.run()
	return w
}

func (w *watcher) run() {
	defer close(w.done)
	for {
		select {
		case _, ok := <-w.fs.Events:
			if !ok {
				return
			}
			time.Sleep(settle)
		case _, ok := <-w.fs.Errors: // an overflow means that something changed
			if !ok {
				return
			}
		}
		w.dirty.Give()
	}
}

// watch watches the directories of these paths and no others. For a missing directory it watches the nearest
// existing parent.
func (w *watcher) watch(paths []string) {
	if w.fs == nil {
		return
	}
	want := make(map[string]bool, len(paths))
	for _, p := range paths {
		want[existing(p)] = true
	}
	for dir := range want {
		if !w.dirs[dir] {
			w.dirs[dir] = w.fs.Add(dir) == nil
		}
	}
	for dir := range w.dirs {
		if !want[dir] {
			_ = w.fs.Remove(dir) // it may be gone
			delete(w.dirs, dir)
		}
	}
}

// existing returns the directory at path or its nearest existing parent.
func existing(path string) string {
	for {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return path
		}
		up := filepath.Dir(path)
		if up == path {
			return path
		}
		path = up
	}
}

func (w *watcher) close() {
	if w.fs != nil {
		w.fs.Close()
	}
	<-w.done
}
