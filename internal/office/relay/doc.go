// Package relay is what a machine that has joined another one's post office has in place of rooms: Far keeps the line
// to that post office, says whether it can be reached, and carries on what is asked here. It knows neither who calls
// nor which doors there are; both are handed in.
package relay
