// Package backup writes a whole home into one file while its post office works, and restores it into an empty one.
//
// The file is a tar archive, compressed by gzip: token, config.toml, and the files of every room under their names in
// the home. manifest.json comes last and lists every file with its size and SHA-256, so that a cut or changed archive
// is detected. It cannot come first: to know all sizes before the first byte, the files of all rooms would have to be
// open at the same time. The size of a file is known from its header.
package backup
