package mailroom

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// A room that is written to faster than the hourly retention stays within its limit and half as much again. Messages
// that must not be trimmed do not make retention run for every message.
func TestP11_CrowdIsTrimmed(t *testing.T) {
	fakeTime(t, func(t *testing.T) {
		room, _ := openRoom(t, "lab", Options{Retention: policy.Retention{Count: 20},
			Limits: policy.Limits{RepeatWindow: -1, Exchanges: -1, PerMinute: -1, Depth: -1}})
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = room.Run(ctx) })
		synctest.Wait()
		most := 0
		for i := range 400 {
			typ := "status"
			if i%10 == 0 {
				typ = "question" // which stays while it is open
			}
			if _, err := room.As(mail.User).Send(ctx, mail.Draft{To: mail.Recipients{"all"}, Type: typ,
				Body: fmt.Sprint(i)}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			most = max(most, room.Status().Messages)
		}
		if most > 62 { // 40 open questions, and half as much again
			t.Errorf("there were %d hot messages at a time", most)
		}
		if left := room.Status().Messages; left < 40 {
			t.Errorf("%d are left, of 40 open questions", left)
		}
		stop()
		running.Wait()
	})
}
