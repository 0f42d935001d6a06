package main

import (
	"fmt"
	"strings"
)

// Model is the parameters of the simulation. Every number is in table, with its source.
type Model struct {
	// The goal.
	Agents, Rooms, Offices float64
	// The day's traffic.
	Messages, Marks, Presence         float64 // per agent and hour
	Hours, Busiest, Behind            float64
	MessageSize, MarkSize, PresenceSz float64
	Spread, OfficesPerRoom            float64
	Live                              float64
	// Servers.
	Batch, Event, Deliver, Leader  float64
	Sync, Disks, Cores, Memory, MB float64
	Base, GroupMemory, GroupIdle   float64
	GroupFiles, GroupFDs           float64
	RoomMemory, ConsumerMemory     float64
	ConsumerIdle, IDMemory         float64
	Restart, RestartGroup, Create  float64
	Overhead, Frame, Network, Disk float64
	Election                       float64
	// Limits.
	WantP99, WantCPU, WantMemory, WantRestart, WantNetwork, WantSync, WantFDs float64
	// The machine on which the small cases were measured, and its load generator.
	HostCores, Client float64
}

// row is a number with its unit and source.
type row struct {
	field  *float64
	value  float64
	unit   string
	what   string
	source string
}

// Sources.
const (
	asked   = "asked for"
	day     = "demo day"
	streams = "bench/streams"
	disk    = "bench, files"
	server  = "server's source"
	assumed = "assumed"
	fitted  = "fitted to bench/streams"
)

// table has every number of the simulation, once.
func (m *Model) table() []row {
	return []row{
		{&m.Agents, 1e6, "", "agents", asked},
		{&m.Rooms, 1e5, "", "rooms", asked},
		{&m.Offices, 1e3, "", "post offices", asked},
		{&m.Messages, 1.71, "/h", "messages that an agent sends: 77 by 5 agents in 9 hours", day},
		{&m.Marks, 4.18, "/h", "marks (notified, presented, read): 188", day},
		{&m.Presence, 6.42, "/h", "turns, sessions, signs of life: 289", day},
		{&m.Hours, 9, "h", "a day's work", day},
		{&m.Busiest, 0.143, "", "of the day's events fall into its busiest hour: 79 of 554", day},
		{&m.Behind, 0.5, "s",
			"until a message has its marks, on average; a tenth of what is simulated at most",
			assumed},
		{&m.MessageSize, 428, "B", "a message's event", day},
		{&m.MarkSize, 180, "B", "a mark's", day},
		{&m.PresenceSz, 163, "B", "a sign of life's", day},
		{&m.Spread, 1, "", "sigma of the logarithm of how busy rooms are: 1 % of them have 9 % of the events",
			assumed},
		{&m.OfficesPerRoom, 2, "", "post offices that follow a room", assumed},
		{&m.Live, 0.1, "", "of the rooms are in use at the same time; the others may be closed", assumed},
		{&m.Batch, 850, "µs", "processor time of a batch, three servers together", fitted},
		{&m.Event, 65, "µs", "of each event in it", fitted},
		{&m.Leader, 0.4, "", "of both are the leader's, the rest is two followers'", assumed},
		{&m.Deliver, 15, "µs", "to bring an event to one post office", assumed},
		{&m.Sync, 165, "µs", "an fdatasync", disk},
		{&m.Disks, 1, "", "syncs that a disk does at the same time: 16 writers of 16 files are no faster", disk},
		{&m.Base, 23, "MB", "a server without rooms", streams},
		{&m.GroupMemory, 0.213, "MB", "a stream's replica", streams},
		{&m.GroupIdle, 87, "µs/s", "its processor time while nothing happens: a heartbeat a second", streams},
		{&m.GroupFDs, 2, "", "its file descriptors", streams},
		{&m.GroupFiles, 8.7, "", "its files", streams},
		{&m.RoomMemory, 3.4, "kB", "a room's subject in a shard, a replica", streams},
		{&m.ConsumerMemory, 0.087, "MB", "a follower's consumer", streams},
		{&m.ConsumerIdle, 120, "µs/s", "its processor time while nothing happens", streams},
		{&m.IDMemory, 0.2, "kB", "a message id, kept for five minutes", assumed},
		{&m.Restart, 0.6, "s", "restart of a server until it is current, without rooms", streams},
		{&m.RestartGroup, 8.4, "ms", "and for each stream's replica", streams},
		{&m.Create, 41, "ms", "to make a stream, eight at a time", streams},
		{&m.Election, 9, "s", "at most, until a killed leader has a successor (4 to 9)", server},
		{&m.Overhead, 100, "B", "of subject, headers and record beside each event", assumed},
		{&m.Frame, 120, "B", "of raft and protocol each time that it crosses the network", assumed},
		{&m.Network, 0.5, "ms", "from one machine to another and back, in a data centre", assumed},
		{&m.Cores, 8, "", "cores of a server", assumed},
		{&m.Memory, 64, "GB", "its memory", assumed},
		{&m.Disk, 2, "TB", "its disk", assumed},
		{&m.MB, 1250, "MB/s", "its network", assumed},
		{&m.WantP99, 50, "ms", "p99 of an acknowledgement in the busiest hour, at most", assumed},
		{&m.WantCPU, 0.6, "", "of the processors in use, at most", assumed},
		{&m.WantSync, 0.8, "", "of the disk's time in syncs, at most", assumed},
		{&m.WantMemory, 0.6, "", "of the memory, at most", assumed},
		{&m.WantNetwork, 0.5, "", "of the network, at most", assumed},
		{&m.WantRestart, 60, "s", "a restart, at most", assumed},
		{&m.WantFDs, 65536, "", "file descriptors, at most", assumed},
		{&m.HostCores, 2, "", "cores of the machine of the small cases, for three servers and the sender", streams},
		{&m.Client, 40, "µs", "processor time of the sender, an event", fitted},
	}
}

// newModel returns the model with the numbers of the table.
func newModel() *Model {
	m := new(Model)
	for _, r := range m.table() {
		*r.field = r.value
	}
	return m
}

// parameters returns the table for the page.
func (m *Model) parameters() string {
	var b strings.Builder
	b.WriteString("| what | value | source |\n|---|---|---|\n")
	for _, r := range m.table() {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", r.what, strings.TrimSpace(number(*r.field)+" "+r.unit), r.source)
	}
	return b.String()
}

// number formats a number, large ones with commas.
func number(v float64) string {
	s := strings.TrimSuffix(fmt.Sprintf("%.3g", v), ".0")
	if v < 1000 {
		return s
	}
	s = fmt.Sprintf("%.0f", v)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
