//go:build !linux && !darwin

package durable

import "math"

// Space knows nothing here: who asks goes on until the disk is full.
func Space(string) (free, total int64, err error) { return math.MaxInt64, 0, nil }
