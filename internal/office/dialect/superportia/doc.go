// Package superportia implements SuperPortia's agent messaging: mailboxes that agents check, by identity.
//
// The source is the document of March 2026 (seeds/002_d345d19a3d2991be.txt; numbered in research/seeds.md, SP-01 to
// SP-18). It names four tools and the heartbeat of the boot sequence, and no file. Its "local" server over stdio and
// its "cloud" server over HTTP have one interface, so they are one endpoint here; package contracttest tests both.
//
// docs/dialects/superportia.md explains our choices where the document is silent, and our differences. For reading
// this code:
//
//   - An identity is an agent of the room. The other columns of the document's table are its roles and tags
//     (identity.go), so that other dialects can address them.
//   - Mail sent here does not expire (rules.go). A mailbox also lists messages in the room's archive.
//   - Mail to which others gave an expiry, and which expired unread, is shown as archived, which has that meaning
//     here.
package superportia
