package jsonl

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// TestChangedDuringCompaction changes the main file while a compaction copies from it. The acknowledged events are
// there afterwards, whether the compaction gave up or not.
func TestChangedDuringCompaction(t *testing.T) {
	changes := map[string]func(dir *memDir, node *memInode){
		"cut off in place": func(_ *memDir, node *memInode) { node.write(memWrite{off: int64(len(node.data) / 2)}) },
		"a line more in the middle": func(_ *memDir, node *memInode) {
			at := bytes.IndexByte(node.data, '\n') + 1
			more := append(bytes.Repeat([]byte("x"), 1500), '\n')
			node.write(memWrite{int64(at), append(more, node.data[at:]...)})
		},
		"removed":  func(dir *memDir, _ *memInode) { delete(dir.names, mainName) },
		"replaced": func(dir *memDir, _ *memInode) { dir.names[mainName] = &memInode{data: []byte("hello\n")} },
	}
	for name, change := range changes {
		for _, when := range []string{"create", "sync"} {
			t.Run(fmt.Sprintf("%s at the first %s", name, when), func(t *testing.T) {
				d := newMemDisk()
				j, err := openMem(d)
				if err != nil {
					t.Fatal(err)
				}
				c := newClerk()
				c.append(t, j, 9)
				c.append(t, j, 3)
				changed := false
				d.fault = func(_ int, op string) fault {
					if last := d.trace[len(d.trace)-1]; !changed && op == when &&
						strings.HasSuffix(last, mainName+tmpSuffix) {
						changed = true
						dir := d.dirs[memPath]
						change(dir, dir.names[mainName])
					}
					return works
				}
				err = c.compact(t, j)
				t.Log("the compaction:", err)
				d.fault = nil
				if !changed {
					t.Fatal("nothing was changed")
				}
				c.append(t, j, 2)
				c.check(t, d, j)
				if err := j.Close(); err != nil {
					t.Error(err)
				}
				c.reopen(t, d)
			})
		}
	}
}
