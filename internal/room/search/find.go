package search

import (
	"cmp"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/mail/find"
)

// plan holds the grams of a query.
type plan struct {
	grams    []uint32
	prefixes [][2]uint32 // of terms of one or two bytes: the first and last gram that begin with the term
}

// mostGrams bounds the lookups for a long phrase. Any subset of grams keeps every message that has them all.
const mostGrams = 48

func planFor(q find.Query) *plan {
	p := &plan{}
	for _, t := range q.Terms() {
		switch len(t) {
		case 1:
			p.prefixes = append(p.prefixes, [2]uint32{uint32(t[0]) << 16, uint32(t[0])<<16 | 0xffff})
		case 2:
			lo := uint32(t[0])<<16 | uint32(t[1])<<8
			p.prefixes = append(p.prefixes, [2]uint32{lo, lo | 0xff})
		default:
			for i := range len(t) - 2 {
				p.grams = append(p.grams, gramAt(t, i))
			}
		}
	}
	slices.Sort(p.grams)
	p.grams = slices.Compact(p.grams)
	if n := len(p.grams); n > mostGrams {
		for i := range mostGrams {
			p.grams[i] = p.grams[i*n/mostGrams]
		}
		p.grams = p.grams[:mostGrams]
	}
	return p
}

// find returns the numbers of the messages that may match.
func (p *part) find(r *reader, asked *plan) ([]uint32, error) {
	found, all, err := p.byGrams(r, asked.grams)
	if err == nil && (all || len(found) > 0) {
		found, all, err = p.byPrefixes(r, asked.prefixes, found, all)
	}
	if err != nil || len(found) == 0 && !all {
		return nil, err
	}
	if all {
		found = make([]uint32, p.docs)
		for i := range found {
			found[i] = uint32(i)
		}
	}
	return found, nil
}

// byGrams returns the messages that have all grams. Of many grams it uses those that exclude the most messages. all
// says that there are no grams, so that every message qualifies.
func (p *part) byGrams(r *reader, grams []uint32) (found []uint32, all bool, err error) {
	var lists []entry
	for _, g := range grams {
		n := len(lists)
		err := p.between(r, g, g, func(e entry) bool { lists = append(lists, e); return true })
		if err != nil || len(lists) == n {
			return nil, false, err
		}
	}
	slices.SortFunc(lists, func(a, b entry) int { return cmp.Compare(a.count, b.count) })
	all = true
	for _, e := range lists {
		if !all && !p.pays(len(found), e.count) {
			break
		}
		if all {
			found, err = p.list(r, nil, e)
		} else {
			found, err = p.narrow(r, found, e)
		}
		if all = false; err != nil || len(found) == 0 {
			return nil, false, err
		}
	}
	return found, all, nil
}

// byPrefixes keeps the messages of found, or of all messages, that have a gram for each prefix.
func (p *part) byPrefixes(r *reader, prefixes [][2]uint32, found []uint32, all bool) (_ []uint32, _ bool, err error) {
	for _, b := range prefixes {
		var some []entry
		var count uint32
		if err := p.between(r, b[0], b[1], func(e entry) bool {
			some = append(some, e)
			count += e.count
			return count < 4*p.docs // a letter found in most messages excludes too few
		}); err != nil {
			return nil, false, err
		}
		if count >= 4*p.docs || !all && !p.pays(len(found), count) {
			continue
		}
		union, err := p.union(r, some)
		if !all {
			union = both(found, union)
		}
		found, all = union, false
		if err != nil || len(found) == 0 {
			return nil, false, err
		}
	}
	return found, all, nil
}

// pays reports whether lists with count entries are worth reading to narrow n messages. Checking one message takes as
// long as reading some thousand entries of a list.
func (p *part) pays(n int, count uint32) bool {
	const look = 3000
	out := float64(n) * (1 - float64(count)/float64(p.docs))
	return out*look > float64(count)+look
}

// narrow keeps the messages of found that are in a list.
func (p *part) narrow(r *reader, found []uint32, e entry) ([]uint32, error) {
	if e.bytes != bitsFor(p.docs) {
		list, err := p.list(r, r.list[:0], e)
		r.list = list
		return both(found, list), err
	}
	b, err := p.pages().at(&r.buf, uint64(e.off), int(e.bytes))
	if err != nil {
		return nil, err
	}
	kept := found[:0]
	for _, n := range found {
		if b[n/8]>>(n%8)&1 != 0 {
			kept = append(kept, n)
		}
	}
	return kept, nil
}

// union returns the messages that are in any of some lists.
func (p *part) union(r *reader, lists []entry) ([]uint32, error) {
	var got []uint32
	for _, e := range lists {
		var err error
		if got, err = p.list(r, got, e); err != nil {
			return nil, err
		}
	}
	slices.Sort(got)
	return slices.Compact(got), nil
}

// both keeps the elements of found that are also in other.
func both(found, other []uint32) []uint32 {
	kept := found[:0]
	k := 0
	for _, n := range found {
		for k < len(other) && other[k] < n {
			k++
		}
		if k < len(other) && other[k] == n {
			kept = append(kept, n)
		}
	}
	return kept
}

// Found is the result of a query in one part of the index: the messages that may match, newest first or oldest first.
// It belongs to one goroutine.
type Found struct {
	After, UpTo mail.Seq // the range that the part covers

	index  *Index
	query  find.Query
	newest bool
	part   *part
	asked  bool
	docs   []uint32 // of the part, those not returned yet
	seqs   []mail.Seq
	reader reader
	page   int // the page of messages in reader.buf
	hashes []uint32
	prints []byte // some pages of prints
	from   uint64 // the offset of those
	buf    []byte
}

// Find returns the result of a query in one part of the index. If newest is true, that is the last part that covers at
// or an earlier sequence number, and at must not be 0; otherwise the first that covers a later one. It returns nil if
// the index does not cover that range.
func (x *Index) Find(q find.Query, at mail.Seq, newest bool) *Found {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if !x.fits || newest && at > x.end || !newest && at >= x.end {
		return nil
	}
	f := &Found{index: x, query: q, newest: newest, UpTo: x.end, page: -1}
	for _, p := range x.parts {
		if p.broken.Load() {
			return nil
		}
		if f.After = p.upTo; newest && at <= p.upTo || !newest && at < p.upTo {
			f.part, f.After, f.UpTo = p, p.after, p.upTo
			return f
		}
	}
	for _, m := range x.fresh {
		if q.In(m.text) {
			f.seqs = append(f.seqs, m.seq)
		}
	}
	if newest {
		slices.Reverse(f.seqs)
	}
	return f
}

// Next returns the sequence numbers of the next messages that may match, up to most of them; none at the end. ok is
// false if the index has changed: the caller must call Find again, continuing after the last sequence number.
func (f *Found) Next(most int) (seqs []mail.Seq, ok bool) {
	if f.part == nil {
		n := min(most, len(f.seqs))
		seqs, f.seqs = f.seqs[:n], f.seqs[n:]
		return seqs, true
	}
	x := f.index
	x.mu.RLock()
	defer x.mu.RUnlock()
	if !slices.Contains(x.parts, f.part) || f.part.broken.Load() {
		return nil, false
	}
	seqs, err := f.next(most)
	if err != nil {
		x.log.Warn("search index rebuilt from an unreadable part on", "from", f.After, "err", err)
		f.part.broken.Store(true)
		return nil, false
	}
	return seqs, true
}

func (f *Found) next(most int) (seqs []mail.Seq, err error) {
	if !f.asked {
		if f.docs, err = f.part.find(&f.reader, planFor(f.query)); err != nil {
			return nil, err
		}
		f.asked, f.hashes = true, windowsOf(f.query)
	}
	for len(f.docs) > 0 && len(seqs) < most {
		n := f.docs[0]
		if f.newest {
			n = f.docs[len(f.docs)-1]
			f.docs = f.docs[:len(f.docs)-1]
		} else {
			f.docs = f.docs[1:]
		}
		d, err := f.message(n)
		if err != nil {
			return nil, err
		}
		if len(f.hashes) > 0 {
			print, err := f.print(&d)
			if err != nil {
				return nil, err
			}
			if !mayHave(print, f.hashes) {
				continue
			}
		}
		seqs = append(seqs, d.seq)
	}
	return seqs, nil
}

// message returns the message with a number.
func (f *Found) message(n uint32) (doc, error) {
	if i := int(n / docsAPage); i != f.page {
		page, err := f.part.pages().read(f.reader.buf, f.part.messages+uint32(i), 1)
		if err != nil {
			return doc{}, err
		}
		f.reader.buf, f.page = page, i
	}
	return docAt(f.reader.buf, n%docsAPage), nil
}

// print returns the print of a message. It is valid until the next call.
func (f *Found) print(d *doc) ([]byte, error) {
	if d.printBytes == 0 {
		return nil, nil
	}
	off, end := uint64(d.print), uint64(d.print)+uint64(d.printBytes)
	if off < f.from || end > f.from+uint64(len(f.prints)) {
		first, last := off/pageContent, (end-1)/pageContent
		if last >= uint64(f.part.dictionary) {
			return nil, errBroken
		}
		pages, err := f.part.pages().read(f.buf, uint32(first), int(last-first)+1)
		if err != nil {
			return nil, err
		}
		f.buf, f.prints, f.from = pages, pages, first*pageContent
	}
	return f.prints[off-f.from:][:d.printBytes], nil
}
