// Package a2a is a door for programs of others that speak A2A 1.0 (https://a2a-protocol.org/v1.0.0/specification).
// Each comes as a guest, whose token opens this door of one room, and its tasks are mail. What becomes of a task
// follows from the room each time that somebody asks, so nothing of it is kept here but to whom news is pushed.
// Start at Door.
package a2a
