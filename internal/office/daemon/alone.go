package daemon

import (
	"cmp"
	"time"

	"pennypost/internal/base/pause"
	"pennypost/internal/config"
)

// leaveWhenAlone stops the post office when it has had no connection for as long as the configuration says.
func (d *daemon) leaveWhenAlone() {
	limit := cmp.Or(d.opts.Config.IdleExit, config.DefaultIdleExit)
	if limit < 0 {
		return
	}
	for {
		left := time.Duration(limit) - d.connections.Alone()
		if left <= 0 && (d.office.Set.Figures().Running > 0 || d.github.On() || !d.office.Quiet()) {
			// the post office must notice mail that others write there, and wake its recipients
			left = min(time.Minute, max(time.Duration(limit), 100*time.Millisecond))
		}
		if left <= 0 {
			d.log.Info("idle; stopping", "idle", time.Duration(limit))
			d.stop()
			return
		}
		if !pause.For(d.closing, left) {
			return
		}
	}
}
