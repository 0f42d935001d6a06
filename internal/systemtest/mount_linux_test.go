package systemtest

import "syscall"

// mountSmall mounts a disk at dir, with options of tmpfs.
func mountSmall(dir, options string) error { return syscall.Mount("tmpfs", dir, "tmpfs", 0, options) }

func unmount(dir string) error { return syscall.Unmount(dir, syscall.MNT_DETACH) }
