package room

import (
	"cmp"
	"maps"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/words"
)

// everywhere fills the list with the newest mail of all rooms. The next page continues by time sent: a sequence
// number in one room's journal means nothing in another.
func (p *historyPage) everywhere(ask mail.HistoryQuery, begun string) error {
	ask.Deliveries, ask.Limit = true, page.Rows
	ask.BySent = !ask.Archive && ask.Search == ""
	ask.Conversations = ask.Search != "" && ask.Thread == ""
	fleet, err := p.Site.Office.FleetMail(p.Ctx(), mail.FleetMailQuery{HistoryQuery: ask})
	if err != nil {
		return err
	}
	p.Missing = page.Missing{NotRead: fleet.NotRead, Away: fleet.Away}
	var all []page.Post
	more := false
	for _, r := range fleet.Rooms {
		in := p.In(r.Room, nil)
		all = append(all, in.Posts(in.Undeleted(r.Messages))...)
		more = more || r.More
		p.Missing.Partly = cmp.Or(p.Missing.Partly, r.Partly)
	}
	slices.SortStableFunc(all, func(a, b page.Post) int {
		return cmp.Or(page.SpotOf(&b.Item).Compare(page.SpotOf(&a.Item)), cmp.Compare(a.Room, b.Room))
	})
	more = more || len(all) > page.Rows
	all = all[:min(len(all), page.Rows)]
	threads := make(map[string]bool)
	for _, post := range all {
		threads[string(post.Room)+" "+string(post.ThreadRoot())] = true
		p.Days = page.Grouped(p.Days, words.Date(p.Now, post.Sent), event{post, ask.Search})
	}
	p.Shown, p.Total, p.Many, p.Threads = len(all), len(all), more, len(threads)
	last := page.Continued(p.Days, begun)
	if !more || len(all) == 0 {
		return nil
	}
	until := all[len(all)-1].Sent
	if until == all[0].Sent { // all sent at one moment: the next page begins before it
		until--
	}
	f := maps.Clone(p.Filters)
	f["until"] = until.String()
	p.More = p.with(f, "day", last)
	return nil
}
