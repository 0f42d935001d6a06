package jetstream

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/mail"
)

// TestAwayKeepsSomething: a silent server does not delay anything if it keeps nothing, for example after it was
// replaced.
func TestAwayKeepsSomething(t *testing.T) {
	w := newWatch()
	now := time.Now()
	w.saw(keptBy("a", map[string]int{"b": 0, "c": -1}), "a", now)
	w.saw(keptBy("a", map[string]int{"b": 0, "c": -1}), "a", now.Add(time.Minute))
	if silent, known := w.away(); !known || !slices.Equal(silent, []string{"c"}) {
		t.Errorf("away are %q, %t", silent, known)
	}
	w.saw(keptBy("a", map[string]int{"b": 0, "d": 0}), "a", now.Add(2*time.Minute))
	if silent, known := w.away(); !known || len(silent) > 0 {
		t.Errorf("when c was replaced away are %q, %t", silent, known)
	}
}

// TestErasedTextLingers: an erased text lingers while a server's log may have it, across restarts of the program, and
// longer while a server is away.
func TestErasedTextLingers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "erased.json")
		l := new(lingering)
		if err := l.open(file); err != nil {
			t.Fatal(err)
		}
		if s := l.status(nil); s != nil {
			t.Errorf("nothing was erased, and %+v lingers", s)
		}
		began := time.Now()
		settle := func(away bool) {
			t.Helper()
			if err := l.settle(time.Now(), away); err != nil {
				t.Fatal(err)
			}
		}
		for _, id := range []mail.ID{"msg_1", "msg_2", "msg_1"} {
			if err := l.add(left{Room: "lab", Message: id}, time.Now()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			settle(false)
		}
		if s := l.status(nil); s == nil || s.Messages != 2 || !s.Since.Std().Equal(began) ||
			s.Until.Std().Sub(began) != 2*time.Minute+logsKeep {
			t.Fatalf("after three minutes %+v lingers", s)
		}
		l = new(lingering) // another process
		if err := l.open(file); err != nil {
			t.Fatal(err)
		}
		for range 120 { // n3 is away for two minutes
			time.Sleep(time.Second)
			settle(true)
		}
		if s := l.status([]string{"n3"}); s == nil || s.Messages != 2 {
			t.Fatalf("while a server is away, %+v lingers", s)
		}
		time.Sleep(logsKeep - time.Second)
		settle(false)
		if s := l.status(nil); s == nil || s.Messages != 2 {
			t.Errorf("before the log of a server that is back is rid of it, %+v lingers", s)
		}
		time.Sleep(time.Second)
		settle(false)
		if s := l.status(nil); s != nil {
			t.Errorf("after that, %+v lingers", s)
		}
		l = new(lingering)
		if err := l.open(file); err != nil || l.status(nil) != nil {
			t.Errorf("for another process %+v lingers, %v", l.status(nil), err)
		}
	})
}

// TestLogsAreSearched: an erased text lingers until every server has searched its log and none has found it, whatever
// the time, and what no search can see lingers for its time.
func TestLogsAreSearched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := new(lingering)
		for _, e := range []left{
			{Room: "lab", Message: "short", IDs: []string{"a", "b"}},
			{Room: "lab", Message: "long", IDs: []string{"c"}, Hidden: true},
			{Room: "lab", Message: "pending", IDs: []string{"d"}, Pending: true},
			{Room: "lab", Message: "erased", IDs: []string{"e"}, Pending: true},
		} {
			if err := l.add(e, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.deleted("lab", "erased", time.Now()); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		search := func(found []string, all bool) (left []mail.ID) {
			t.Helper()
			time.Sleep(max(searchEvery, time.Since(began)/10))
			ids := l.toFind(time.Now())
			if !slices.Equal(ids, idsOfLeft(l)) || l.toFind(time.Now().Add(searchEvery/2)) != nil {
				t.Fatalf("after %v, %q is searched for, or again within %v", time.Since(began), ids, searchEvery/2)
			}
			if err := l.looked(ids, found, all, time.Now()); err != nil {
				t.Fatal(err)
			}
			if err := l.settle(time.Now(), false); err != nil {
				t.Fatal(err)
			}
			for _, e := range l.left {
				left = append(left, e.Message)
			}
			return left
		}
		if left := search([]string{"b"}, true); !slices.Equal(left, []mail.ID{"short", "long", "pending"}) {
			t.Errorf("when b was found, %q linger", left)
		}
		if left := search(nil, false); !slices.Equal(left, []mail.ID{"short", "long", "pending"}) {
			t.Errorf("when a server did not answer, %q linger", left)
		}
		for time.Since(began) < 2*logsKeep {
			search([]string{"b"}, true)
		}
		if left := search([]string{"b"}, true); !slices.Equal(left, []mail.ID{"short"}) {
			t.Errorf("long after their time, and b still found, %q linger", left)
		}
		if left := search(nil, true); left != nil {
			t.Errorf("when no server found anything, %q linger", left)
		}
	})
}

// TestFoundOutlivesRestart: what a search has found lingers for the next process, too, until that has searched.
func TestFoundOutlivesRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "erased.json")
		l := new(lingering)
		err := errors.Join(l.open(file), l.add(left{Room: "lab", Message: "stays", IDs: []string{"a"}}, time.Now()))
		time.Sleep(logsKeep - time.Second)
		err = errors.Join(err, l.looked([]string{"a"}, []string{"a"}, true, time.Now()))
		l = new(lingering)
		err = errors.Join(err, l.open(file))
		time.Sleep(2 * time.Second)
		if err = errors.Join(err, l.settle(time.Now(), false)); err != nil {
			t.Fatal(err)
		}
		if l.status(nil) == nil {
			t.Error("after a restart it is no longer told")
		}
	})
}

func idsOfLeft(l *lingering) (ids []string) {
	for _, e := range l.left {
		ids = append(ids, e.IDs...)
	}
	return ids
}
