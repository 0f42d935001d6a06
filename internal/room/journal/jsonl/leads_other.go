//go:build !unix

package jsonl

import "os"

// Leads compares as os.SameFile does.
func (osDisk) Leads(path string, to file) (size int64, leads bool) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, false
	}
	return info.Size(), os.SameFile(info, to.(osFile).info)
}
