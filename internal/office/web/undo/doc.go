// Package undo holds actions on the pages that the person can still undo: a Deed waits, and is carried out when its
// time is over. It knows messages by room and id, but no pages; List performs an action by calling the deed's
// function. Start at List.Add.
package undo
