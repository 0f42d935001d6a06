package systemtest

import "syscall"

// mountSmall mounts a disk of 256 kB at dir.
func mountSmall(dir string) error { return syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k") }

func unmount(dir string) error { return syscall.Unmount(dir, syscall.MNT_DETACH) }
