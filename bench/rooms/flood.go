package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"

	"pennypost/bench/drive"
	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jetstream"
)

// inBatch is how many events each call of a flood appends.
const inBatch = 100

// shardOf returns in which shard a room is.
func (b *bench) shardOf(ctx context.Context, room int) (string, error) {
	s, err := b.js.Stream(ctx, "pennypost_rooms")
	if err != nil {
		return "", err
	}
	m, err := s.GetLastMsgForSubject(ctx, "pennypost.rooms."+name(room))
	if err != nil {
		return "", err
	}
	var home struct{ Shard string }
	err = json.Unmarshal(m.Data, &home)
	return home.Shard, err
}

// flood has eight on one machine append to a room as fast as they may, and one on the other machine send to another
// room: of the same shard, of another one, and where each room has a stream of its own.
func (b *bench) flood(ctx context.Context) error {
	if !b.flooded {
		return nil
	}
	of, err := b.shardOf(ctx, 0)
	if err != nil {
		return err
	}
	same, other := 0, 0
	for room := 1; room < len(b.desk.rooms) && (same == 0 || other == 0); room++ {
		shard, err := b.shardOf(ctx, room)
		if err != nil {
			return err
		}
		if shard == of {
			same = room
		} else {
			other = room
		}
	}
	var own [2]*jetstream.Journal
	for i, name := range []string{"own-desk", "own-laptop"} {
		m, err := b.machine(ctx, mail.Machine(name), "own", true)
		if err != nil {
			return err
		}
		b.own = append(b.own, m)
		if own[i], err = m.enter(ctx, i); err != nil {
			return err
		}
	}
	lone := func(name string, j *jetstream.Journal) *way {
		return &way{name: name, senders: 1, send: func(ctx context.Context, _ int) error {
			_, err := j.Append(ctx, event())
			return err
		}}
	}
	if err := b.turns(ctx, lone("1, no flood", b.laptop.rooms[same])); err != nil {
		return err
	}
	ways := []*way{lone("1, flood in its shard", b.laptop.rooms[same]),
		lone("1, flood in another shard", b.laptop.rooms[other])}
	apart := lone("1, flood in another stream, each room has its own", own[1])
	rounds := b.rounds
	b.rounds = 1
	var flooded, floodedOwn atomic.Int64
	for range rounds { // by turns
		if err := b.under(ctx, b.desk.rooms[0], &flooded, ways...); err != nil {
			return err
		}
		if err := b.under(ctx, own[0], &floodedOwn, apart); err != nil {
			return err
		}
	}
	b.rounds = rounds
	seconds := b.turn.Seconds() * float64(rounds)
	b.say("floods: %.0f a second in a shard, %.0f in a stream", float64(flooded.Load())/seconds/float64(len(ways)),
		float64(floodedOwn.Load())/seconds)
	return nil
}

// under sends while a room is flooded.
func (b *bench) under(ctx context.Context, room *jetstream.Journal, n *atomic.Int64, ways ...*way) error {
	flooding, end := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		err := drive.Each(flooding, 8, 8, func(context.Context, int) error {
			for flooding.Err() == nil {
				if _, err := room.Append(ctx, events(inBatch)...); err != nil {
					return err
				}
				n.Add(inBatch)
			}
			return nil
		})
		if err != nil && flooding.Err() == nil {
			fmt.Println("the flood has ended:", err)
		}
	})
	err := b.turns(ctx, ways...)
	end()
	running.Wait()
	return err
}
