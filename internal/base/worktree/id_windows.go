package worktree

import (
	"os"
	"strconv"
	"syscall"
)

// id identifies the directory at a path.
func id(path string) (string, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return "", err
	}
	const share = syscall.FILE_SHARE_READ | syscall.FILE_SHARE_WRITE | syscall.FILE_SHARE_DELETE
	h, err := syscall.CreateFile(name, 0, share, nil, syscall.OPEN_EXISTING, syscall.FILE_FLAG_BACKUP_SEMANTICS, 0)
	if err != nil {
		return "", &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer syscall.CloseHandle(h)
	var d syscall.ByHandleFileInformation
	if err := syscall.GetFileInformationByHandle(h, &d); err != nil {
		return "", &os.PathError{Op: "describe", Path: path, Err: err}
	}
	file := uint64(d.FileIndexHigh)<<32 | uint64(d.FileIndexLow)
	return strconv.FormatUint(uint64(d.VolumeSerialNumber), 16) + "-" + strconv.FormatUint(file, 16), nil
}
