// Package update gets another version of the programs: it finds a release, checks its signature and its checksum, and
// unpacks it. Nothing in it looks for releases unless a person asks.
//
// What is trusted is the key in the program, and nothing on the way. SHA256SUMS is signed (package minisign), with the
// version in the comment that is signed too. It has the checksum of each archive, which is compared before anything is
// unpacked. An old release is signed as well: whoever controls the address can hold back a newer one,
// and the caller decides what an older one is worth.
package update
