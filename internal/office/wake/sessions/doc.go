// Package sessions keeps what the hooks of clients told of the sessions on this machine: what it takes to get at each,
// and whether it lives. It knows of no door and of no room. A List is all of it, and survives a restart in a file;
// what it holds prints nowhere.
package sessions
