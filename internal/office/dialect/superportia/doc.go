// Package superportia speaks the agent messaging of SuperPortia: mailboxes that agents look into, by identity.
//
// Observed is the document of March 2026 (seeds/002_d345d19a3d2991be.txt; numbered in research/seeds.md, SP-01 to
// SP-18). It names four tools and the heartbeat of the boot sequence; no file. Its "local" server over stdio and its
// "cloud" server over HTTP have one interface, and here they are one endpoint; package contracttest holds both to it.
//
// Where the document is silent or we differ, docs/dialects/superportia.md says how and why. What matters for reading
// this code:
//
//   - An identity is an agent of the room. Everything else that the document's table says of it stands in its roles
//     and tags (identity.go), so that other dialects can address them.
//   - Mail sent here does not expire (rules.go). A mailbox lists what the room's archive holds too.
//   - Mail that others gave an expiry, and that expired unread, is shown as archived, which is what it means here.
package superportia
