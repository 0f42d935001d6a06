// Package undo holds what a person did on the pages and can still take back: a Deed waits, and is carried out when its
// time has come. It knows messages by room and id, and no page; List does no act itself, but calls the deed's
// function. Start at List.Add.
package undo
