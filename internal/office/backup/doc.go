// Package backup puts a whole home into one file while its post office works, and takes it out into an empty one.
//
// The file is a tar archive, compressed by gzip: token, config.toml, and the files of every room under the names that
// they have in the home. manifest.json comes last and lists every file with its size and SHA-256, so that an archive
// that was cut or changed is not taken for a whole one. It cannot come first: whoever wants to know all sizes before
// the first byte must hold the files of all rooms open at once. What a file will take is known from its header.
package backup
