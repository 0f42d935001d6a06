package rooms

import (
	"context"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// Shards lists the streams that rooms on the NATS servers share.
func (o *Set) Shards(ctx context.Context) (wire.Shards, error) {
	list := wire.Shards{Shards: []wire.Shard{}}
	if err := o.Cluster.Trouble(); err != nil {
		return list, err
	}
	shards, err := o.Cluster.Shards(ctx)
	for _, s := range shards {
		list.Shards = append(list.Shards, wire.Shard(s))
	}
	return list, err
}

// MakeShards makes shards until there are the number asked for. It never removes any.
func (o *Set) MakeShards(ctx context.Context, ask wire.MakeShards) (wire.Shards, error) {
	if ask.Number < 1 || ask.Number > wire.MostShards {
		return wire.Shards{}, mail.Errorf(mail.Invalid, "a cluster has 1 to %d shards, not %d", wire.MostShards,
			ask.Number)
	}
	before, err := o.Shards(ctx)
	if err != nil {
		return before, err
	}
	if n := len(before.Shards); ask.Number < n {
		return before, mail.Errorf(mail.Conflict, "there are already %d shards. Shards cannot be removed, because "+
			"rooms stay in them", n)
	}
	if err := o.Cluster.AddShards(ctx, ask.Number); err != nil {
		return before, err
	}
	list, err := o.Shards(ctx)
	if list.Made = len(list.Shards) - len(before.Shards); list.Made > 0 && err == nil {
		o.Log.Info("shards made", "made", list.Made, "there are", len(list.Shards))
	}
	return list, err
}
