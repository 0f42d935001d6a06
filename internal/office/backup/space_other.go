//go:build !linux && !darwin

package backup

import "math"

// space knows nothing here: a restore goes on until the disk is full, and then removes what it wrote.
func space(string) (free, total int64, err error) { return math.MaxInt64, 0, nil }
