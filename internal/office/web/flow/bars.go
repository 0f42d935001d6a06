package flow

import (
	"slices"
	"time"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/words"
)

// strip is the volume of mail over the shown time: bars, and hours or days below them.
type strip struct {
	Bars  []bar
	Ticks []tick
}

// bar is an interval and the volume of mail in it.
type bar struct {
	X, Y, Width, Height int
	Title, Href         string
}

// tick labels a time below the bars.
type tick struct {
	X    int
	Text string
}

const (
	bars      = 48
	barWidth  = 22
	barHeight = 28
	mostTicks = 9
)

// strip cuts the shown time into intervals; a click on one zooms in. If more is set, there are earlier messages, not
// in posts, that are not counted.
func (p *flowPage) strip(posts []page.Post, more bool) (out strip) {
	from, to := p.Since, p.End()
	if (from == 0 || more) && len(posts) > 0 {
		from = posts[len(posts)-1].Sent
	}
	piece := (to - from) / bars
	if from == 0 || piece <= 0 {
		return out
	}
	var counts [bars]int
	for i := range posts {
		counts[min(max(int((posts[i].Sent-from)/piece), 0), bars-1)]++
	}
	most := max(1, slices.Max(counts[:]))
	near := p.nearer(time.Duration(piece) * time.Millisecond)
	for i, n := range counts {
		if n == 0 {
			continue
		}
		begin := from + mail.Time(i)*piece
		b := bar{X: i * barWidth, Width: barWidth - 2, Height: max(n*barHeight/most, 2)}
		b.Y = barHeight - b.Height
		b.Title = words.Moment(p.Now, begin) + " – " + words.Clock(begin+piece) + ": " + wording.Plural(n, "message")
		q := *p
		q.Window, q.Until = near, begin+piece
		if near.Long > piece.Sub(0) { // centre the window on the interval
			q.Until = min(begin+piece/2+mail.Time((near.Long/2).Milliseconds()), mail.TimeOf(p.Now))
		}
		b.Href = q.Here()
		out.Bars = append(out.Bars, b)
	}
	out.Ticks = p.ticks(from, to)
	return out
}

// ticks returns labels at full hours, or at days for a long time, as many as fit.
func (p *flowPage) ticks(from, to mail.Time) (out []tick) {
	at := from.Std().In(p.Now.Location())
	hours := 1
	for _, n := range []int{2, 3, 6, 12, 24} {
		if to.Sub(from) > time.Duration(hours*mostTicks)*time.Hour {
			hours = n
		}
	}
	days := 1
	for to.Sub(from) > time.Duration(days*mostTicks*24)*time.Hour {
		days *= 2
	}
	t := time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, at.Location())
	for !t.After(to.Std()) {
		if text := t.Format("15:04"); !t.Before(at) {
			if hours == 24 || t.Hour() == 0 {
				text = t.Format("2 Jan")
			}
			x := int(int64(mail.TimeOf(t)-from) * bars * barWidth / int64(to-from))
			if x <= bars*barWidth-40 { // its label fits
				out = append(out, tick{x, text})
			}
		}
		if hours == 24 {
			t = t.AddDate(0, 0, days)
		} else {
			t = t.Add(time.Duration(hours) * time.Hour)
		}
	}
	return out
}

// nearer is the smallest window that holds an interval.
func (p *flowPage) nearer(piece time.Duration) window {
	for _, w := range windows {
		if w.Long >= piece {
			return w
		}
	}
	return windows[len(windows)-2]
}
