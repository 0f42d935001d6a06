// Package update gets another version of the programs: it finds a release, checks its signature and its checksum, and
// unpacks it. It looks for releases only when a person asks.
//
// Only the key in the program is trusted, nothing in transit. SHA256SUMS is signed (package minisign), with the
// version in the comment, which is signed too. It has the checksum of each archive, which is compared before
// unpacking. An old release is signed as well: an attacker who controls the address can hold back a newer one, and the
// caller decides whether to accept an older one.
package update
