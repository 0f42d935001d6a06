package jsonl

import (
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
)

// Reading one event reads a few kilobytes, wherever it is and however it was written: alone, in a large batch, or by a
// compaction.
func TestReadReadsLittle(t *testing.T) {
	d := newMemDisk()
	j, err := openMem(d)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { j.Close() }()
	var batch []mail.Event
	for i := range 1500 { // in the end the tail holds none of them
		batch = append(batch, benchEvent(i))
	}
	for range 10 {
		if _, err := j.Append(t.Context(), batch...); err != nil {
			t.Fatal(err)
		}
	}
	little := func(seq mail.Seq) {
		t.Helper()
		bytes, reads := d.bytes, d.reads
		events, err := j.Read(t.Context(), seq)
		if err != nil || len(events) != 1 || events[0].Seq != seq {
			t.Fatalf("Read(%d) = %d events, %v", seq, len(events), err)
		}
		if bytes, reads = d.bytes-bytes, d.reads-reads; bytes > 2*indexStep || reads != 1 {
			t.Errorf("Read(%d) read %d bytes in %d reads, want at most %d in one", seq, bytes, reads, 2*indexStep)
		}
	}
	some := func() {
		t.Helper()
		for seq := mail.Seq(3); seq < 5000; seq += 300 {
			little(seq)
		}
	}
	some()
	drop := func(e mail.Event) journal.Fate {
		if e.Seq%3 == 0 {
			return journal.Keep
		}
		return journal.Drop
	}
	if err := j.Compact(t.Context(), drop); err != nil {
		t.Fatal(err)
	}
	some()
	j.Close()
	if j, err = openMem(d); err != nil {
		t.Fatal(err)
	}
	some()

	reads := d.reads
	if events, err := j.Read(t.Context(), 303, 306, 309, 330, 12000); err != nil || len(events) != 5 {
		t.Fatalf("Read of five = %d events, %v", len(events), err)
	}
	if got := d.reads - reads; got != 2 {
		t.Errorf("four near each other and a fifth took %d reads, want 2", got)
	}
}

func BenchmarkRead(b *testing.B) {
	dir := b.TempDir()
	fillJournal(b, dir, 100_000)
	j := openDir(b, dir, Options{})
	places := make([]mail.Seq, 20)
	for name, apart := range map[string]int{"adjacent": 1, "apart": 4999} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for n := range b.N {
				for i := range places {
					places[i] = mail.Seq((n*31+i*apart)%100_000 + 1)
				}
				if events, err := j.Read(b.Context(), places...); err != nil || len(events) != len(places) {
					b.Fatal(len(events), err)
				}
			}
		})
	}
}
