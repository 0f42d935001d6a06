package jsonl

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// memDisk is a disk that distinguishes durable data from data that only seems to be: crash returns a state that a
// power cut might leave. Any of its calls can be made to fail, or to be the last.
type memDisk struct {
	mu    sync.Mutex
	dirs  map[string]*memDir
	locks map[string]bool

	reads int
	bytes int64 // read
	calls int   // calls that change something
	trace []string
	fault func(call int, op string) fault
}

// fault is the fate of a call.
type fault uint8

const (
	works    fault = iota
	fails          // no effect, except that a write leaves half of its data
	succeeds       // takes effect, but reports an error
	dies           // no effect, nor has any later call: the power is cut
)

var errInjected = errors.New("injected fault")

// memDir is a directory: its names, and the unsynced changes to them.
type memDir struct {
	names   map[string]*memInode
	durable map[string]*memInode
	pending []func(map[string]*memInode)
}

type memInode struct {
	data    []byte
	durable []byte
	pending []memWrite
}

// memWrite is a write, or, if data is nil, a truncation to off.
type memWrite struct {
	off  int64
	data []byte
}

func (w memWrite) apply(b []byte) []byte {
	if w.data == nil {
		if int64(len(b)) >= w.off {
			return b[:w.off:w.off]
		}
		return append(b, make([]byte, w.off-int64(len(b)))...)
	}
	if end := w.off + int64(len(w.data)); int64(len(b)) < end {
		b = append(b[:len(b):len(b)], make([]byte, end-int64(len(b)))...)
	} else {
		b = bytes.Clone(b)
	}
	copy(b[w.off:], w.data)
	return b
}

func newMemDisk() *memDisk {
	return &memDisk{dirs: make(map[string]*memDir), locks: make(map[string]bool)}
}

// call counts a call and decides its fate.
func (d *memDisk) call(op, path string) (fault, error) {
	d.calls++
	d.trace = append(d.trace, fmt.Sprintf("%d %s %s", d.calls, op, filepath.Base(path)))
	if d.fault != nil {
		if f := d.fault(d.calls, op); f != works {
			return f, fmt.Errorf("%s %s: %w", op, filepath.Base(path), errInjected)
		}
	}
	return works, nil
}

func (d *memDisk) dir(path string) (*memDir, string) {
	return d.dirs[filepath.Dir(path)], filepath.Base(path)
}

func (m *memDir) change(f func(map[string]*memInode)) {
	f(m.names)
	m.pending = append(m.pending, f)
}

func (d *memDisk) Lock(path string) (lock, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.locks[path] {
		return nil, errors.New("locked")
	}
	d.locks[path] = true
	return memLock{d, path}, nil
}

type memLock struct {
	disk *memDisk
	path string
}

// InPlace is false if the directory of the lock was removed.
func (l memLock) InPlace() bool {
	l.disk.mu.Lock()
	defer l.disk.mu.Unlock()
	return l.disk.dirs[filepath.Dir(l.path)] != nil
}

func (l memLock) Close() error {
	l.disk.mu.Lock()
	defer l.disk.mu.Unlock()
	delete(l.disk.locks, l.path)
	return nil
}

func (d *memDisk) MkdirAll(path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dirs[path] != nil {
		return nil
	}
	if f, err := d.call("mkdir", path); err != nil && f != succeeds {
		return err
	}
	d.dirs[path] = &memDir{names: make(map[string]*memInode), durable: make(map[string]*memInode)}
	return nil
}

func (d *memDisk) List(path string) (names, _ []string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dirs[path] == nil {
		return nil, nil, nil
	}
	for name := range d.dirs[path].names {
		names = append(names, name)
	}
	return names, nil, nil
}

func (d *memDisk) Open(path string, flag int) (file, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	dir, name := d.dir(path)
	if dir == nil {
		return nil, fs.ErrNotExist
	}
	node := dir.names[name]
	if node == nil && flag&os.O_CREATE == 0 {
		return nil, fs.ErrNotExist
	}
	if node == nil || flag&os.O_TRUNC != 0 {
		if f, err := d.call("create", path); err != nil && f != succeeds {
			return nil, err
		}
	}
	if node == nil {
		node = new(memInode)
		dir.change(func(names map[string]*memInode) { names[name] = node })
	}
	if flag&os.O_TRUNC != 0 {
		node.write(memWrite{off: 0})
	}
	return &memFile{d, path, node}, nil
}

func (d *memDisk) Leads(path string, to file) (int64, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	dir, name := d.dir(path)
	if dir == nil || dir.names[name] == nil {
		return 0, false
	}
	return int64(len(dir.names[name].data)), dir.names[name] == to.(*memFile).node
}

func (d *memDisk) Rename(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	f, err := d.call("rename", to)
	if err != nil && f != succeeds {
		return err
	}
	dir, old := d.dir(from)
	if dir == nil || dir.names[old] == nil {
		return fs.ErrNotExist
	}
	node := dir.names[old]
	name := filepath.Base(to)
	dir.change(func(names map[string]*memInode) {
		delete(names, old)
		names[name] = node
	})
	return err
}

func (d *memDisk) Remove(path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	f, err := d.call("remove", path)
	if err != nil && f != succeeds {
		return err
	}
	dir, name := d.dir(path)
	if dir == nil || dir.names[name] == nil {
		return fs.ErrNotExist
	}
	dir.change(func(names map[string]*memInode) { delete(names, name) })
	return err
}

func (d *memDisk) SyncDir(path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	f, err := d.call("syncdir", path)
	if err != nil && f != succeeds {
		return err
	}
	dir := d.dirs[path]
	if dir == nil { // a directory above the journal's
		return err
	}
	for _, change := range dir.pending {
		change(dir.durable)
	}
	dir.pending = nil
	return err
}

type memFile struct {
	disk *memDisk
	path string
	node *memInode
}

func (n *memInode) write(w memWrite) {
	n.data = w.apply(n.data)
	n.pending = append(n.pending, w)
}

func (f *memFile) ReadAt(b []byte, off int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.disk.reads++
	n, err := bytes.NewReader(f.node.data).ReadAt(b, off)
	f.disk.bytes += int64(n)
	return n, err
}

func (f *memFile) WriteAt(b []byte, off int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	fault, err := f.disk.call("write", f.path)
	switch fault {
	case fails:
		f.node.write(memWrite{off, bytes.Clone(b[:len(b)/2])})
		return len(b) / 2, err
	case dies:
		return 0, err
	}
	f.node.write(memWrite{off, append([]byte{}, b...)})
	return len(b), err
}

func (f *memFile) Truncate(size int64) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	fault, err := f.disk.call("truncate", f.path)
	if err == nil || fault == succeeds {
		f.node.write(memWrite{off: size})
	}
	return err
}

func (f *memFile) Sync() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	fault, err := f.disk.call("sync", f.path)
	if err == nil || fault == succeeds {
		f.node.durable, f.node.pending = f.node.data, nil
	}
	return err
}

func (f *memFile) Size() (int64, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	return int64(len(f.node.data)), nil
}

func (f *memFile) Close() error { return nil }

// crash returns a disk as a power cut might leave it: of the unsynced changes to each directory and file a prefix has
// arrived, the last write of it in part or as zeros.
func (d *memDisk) crash(rnd *rand.Rand) *memDisk {
	d.mu.Lock()
	defer d.mu.Unlock()
	after := newMemDisk()
	left := make(map[*memInode]*memInode)
	for path, dir := range d.dirs {
		names := make(map[string]*memInode)
		for name, node := range dir.durable {
			names[name] = node
		}
		for _, change := range dir.pending[:rnd.IntN(len(dir.pending)+1)] {
			change(names)
		}
		now := &memDir{names: make(map[string]*memInode), durable: make(map[string]*memInode)}
		for name, node := range names {
			if left[node] == nil {
				left[node] = node.crash(rnd)
			}
			now.names[name], now.durable[name] = left[node], left[node]
		}
		after.dirs[path] = now
	}
	return after
}

func (n *memInode) crash(rnd *rand.Rand) *memInode {
	b := n.durable
	arrived := rnd.IntN(len(n.pending) + 1)
	for i, w := range n.pending[:arrived] {
		if i == arrived-1 && len(w.data) > 0 {
			cut := rnd.IntN(len(w.data) + 1)
			switch rnd.IntN(3) {
			case 0:
				w.data = w.data[:cut]
			case 1: // the size arrived before the content
				w.data = append(bytes.Clone(w.data[:cut]), make([]byte, len(w.data)-cut)...)
			}
		}
		b = w.apply(b)
	}
	return &memInode{data: b, durable: b}
}

// survive returns the disk as the next process finds it after this one was killed, without a power cut.
func (d *memDisk) survive() *memDisk {
	d.mu.Lock()
	defer d.mu.Unlock()
	return &memDisk{dirs: d.dirs, locks: make(map[string]bool)}
}

// holds returns the names of the files whose content contains text.
func (d *memDisk) holds(text string) (names []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for path, dir := range d.dirs {
		for name, node := range dir.names {
			if bytes.Contains(node.data, []byte(text)) {
				names = append(names, filepath.Join(path, name))
			}
		}
	}
	return names
}

// files returns the names of all files that contain part in their name.
func (d *memDisk) files(part string) (names []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for path, dir := range d.dirs {
		for name := range dir.names {
			if strings.Contains(name, part) {
				names = append(names, filepath.Join(path, name))
			}
		}
	}
	slices.Sort(names)
	return names
}

// content returns the content of a file, nil if there is none.
func (d *memDisk) content(path string) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	dir, name := d.dir(path)
	if dir == nil || dir.names[name] == nil {
		return nil
	}
	return bytes.Clone(dir.names[name].data)
}

// put makes a durable file.
func (d *memDisk) put(path string, data []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	dir := filepath.Dir(path)
	if d.dirs[dir] == nil {
		d.dirs[dir] = &memDir{names: make(map[string]*memInode), durable: make(map[string]*memInode)}
	}
	node := &memInode{data: bytes.Clone(data), durable: bytes.Clone(data)}
	d.dirs[dir].names[filepath.Base(path)] = node
	d.dirs[dir].durable[filepath.Base(path)] = node
}
