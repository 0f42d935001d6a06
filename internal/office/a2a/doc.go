// Package a2a is a door for foreign programs that speak A2A 1.0 (https://a2a-protocol.org/v1.0.0/specification).
// Each is a guest, whose token opens this door of one room, and its tasks are mail. A task's state is derived from
// the room on each request; only the push configurations are saved. Start at Door.
package a2a
