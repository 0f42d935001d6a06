// Package reach knows by which doors the agents of this machine are reached: those that the configuration gives them,
// those of their sessions as hooks told, those of processes that wait, and those of other machines. It knows of no
// room, and rings nobody. Known is all of it; its ladder has the doors of one agent in their order.
package reach
