// Package confined reads and writes files in a directory to which others can write, so that no entry they create leads
// outside it.
//
// A person names the directory, and may do so through links. Below it no part of a path may be a link: even one that
// stays inside is refused, because it can lead to a hook of the surrounding repository. Files that are not regular are
// refused, and all are opened without blocking, so that a pipe without a reader delays no caller. Each part of a path
// is checked and then opened through the directory above it, and the opened file must be the checked one; if it was
// exchanged in between, it is refused too.
//
// A hard link to a file elsewhere is not detected: it is that file under another name, and whoever made it could
// already write to the file.
package confined
