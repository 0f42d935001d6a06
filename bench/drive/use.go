package drive

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Use is the resources that processes use together.
type Use struct {
	Memory float64 // MB resident
	CPU    time.Duration
	Files  int // open files, including connections
}

// UseOf sums up the entries of processes in /proc, so it needs Linux.
func UseOf(pids ...int) (u Use, err error) {
	for _, pid := range pids {
		err = errors.Join(err, u.add(filepath.Join("/proc", strconv.Itoa(pid))))
	}
	return u, err
}

func (u *Use) add(proc string) error {
	stat, err := os.ReadFile(filepath.Join(proc, "stat"))
	if err != nil {
		return err
	}
	// After the name, which is in brackets, the 12th and 13th field are the ticks (1/100 s), the 22nd resident
	// pages.
	f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	number := func(i int) int64 {
		n, _ := strconv.ParseInt(string(f[i]), 10, 64)
		return n
	}
	u.CPU += time.Duration(number(11)+number(12)) * 10 * time.Millisecond
	u.Memory += float64(number(21)*int64(os.Getpagesize())) / 1e6
	open, err := os.ReadDir(filepath.Join(proc, "fd"))
	u.Files += len(open)
	return err
}
