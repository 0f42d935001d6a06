package mailroom

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"pennypost/internal/mail"
)

// TestOneHolderOnMachines checks P15 on three machines: agents on each of them concurrently take and give up
// conflicting targets, and while one holds a target, from the answer until it gives it up, no other does.
func TestOneHolderOnMachines(t *testing.T) {
	fakeTime(t, func(t *testing.T) {
		f := newFleet(t, 3, Options{})
		targets := []mail.Target{{Name: "build"}, {Name: "deploy"}}
		var mu sync.Mutex
		holds := map[string]mail.Name{}
		taken, refused := 0, 0
		var agents sync.WaitGroup
		for i := range 6 {
			name, p := mail.Name(fmt.Sprint("a", i)), f.posts[i%3]
			_, err := p.As(name).Turn(t.Context(), mail.Turn{Moment: mail.TurnStart, Session: "s" + string(name)})
			f.must("turn", err)
			random := rand.New(rand.NewPCG(1, uint64(i)))
			agents.Go(func() {
				for range 100 {
					time.Sleep(time.Duration(random.IntN(3)) * time.Millisecond)
					want := targets[random.IntN(2):][:1]
					got, err := p.As(name).Claim(t.Context(), mail.ClaimRequest{Take: want})
					if err != nil && mail.CodeOf(err) != mail.Unavailable {
						t.Errorf("%s takes: %v", name, err)
					}
					mu.Lock()
					if err != nil || len(got.Held) == 0 {
						refused++
						mu.Unlock()
						continue
					}
					if other := holds[want[0].Name]; other != "" {
						t.Errorf("%s holds %s, and so does %s", name, want[0].Name, other)
					}
					holds[want[0].Name] = name
					taken++
					mu.Unlock()
					time.Sleep(time.Duration(random.IntN(3)) * time.Millisecond)
					mu.Lock()
					holds[want[0].Name] = ""
					mu.Unlock()
					_, err = p.As(name).Claim(t.Context(), mail.ClaimRequest{All: true})
					f.must("give up", err)
				}
			})
		}
		agents.Wait()
		if taken < 50 || refused < 50 {
			t.Errorf("%d were taken and %d refused", taken, refused)
		}
	})
}

// TestHeldNoMore checks P15 when a machine has not heard that an agent's claim was given up and taken elsewhere: it
// does not answer from its old knowledge that the agent still holds it.
func TestHeldNoMore(t *testing.T) {
	fakeTime(t, func(t *testing.T) {
		f := newFleet(t, 2, Options{})
		here, there := f.posts[0], f.posts[1]
		build := []mail.Target{{Name: "build"}}
		for _, name := range []mail.Name{"ann", "bob"} {
			_, err := here.As(name).Turn(t.Context(), mail.Turn{Moment: mail.TurnStart, Session: "s" + string(name)})
			f.must("turn", err)
		}
		take := func(p *post, name mail.Name) (bool, error) {
			got, err := p.As(name).Claim(t.Context(), mail.ClaimRequest{Take: build})
			return len(got.Held) > 0, err
		}
		f.agree()
		for range 2 {
			if held, err := take(there, "ann"); !held || err != nil {
				t.Fatalf("ann holds it: %v, %v", held, err)
			}
		}
		f.agree()
		release := there.disk.Hold()
		_, err := here.As("ann").Claim(t.Context(), mail.ClaimRequest{Free: build})
		f.must("give up", err)
		if held, err := take(here, "bob"); !held || err != nil {
			t.Fatalf("bob holds it: %v, %v", held, err)
		}
		there.disk.Cut(mail.Errorf(mail.Unavailable, "the servers are away"))
		if held, err := take(there, "ann"); held || mail.CodeOf(err) != mail.Unavailable {
			t.Errorf("ann is told that she still holds it: %v, %v", held, err)
		}
		there.disk.Cut(nil)
		release()
		f.agree()
		if held, err := take(there, "ann"); held || err != nil {
			t.Errorf("ann holds what bob holds: %v, %v", held, err)
		}
	})
}
