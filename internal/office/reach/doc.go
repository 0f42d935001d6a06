// Package reach knows the doors by which the agents of this machine are reached: those in the configuration, those
// of their sessions, as reported by hooks, those of processes that wait, and those of other machines. It knows of no
// room, and rings no door. Known is all of it; its ladder has the doors of one agent in their order.
package reach
