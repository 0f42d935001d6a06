// Package confined touches files in a directory to which others can write, so that nothing they put there leads
// anywhere else.
//
// A person names the directory, and may name it by way of links. Below it no part of a path may be a link: one that
// stays inside is refused too, because it can lead to a hook of the repository that holds it. Files are regular ones
// or refused, and are opened without waiting, so that a pipe without a reader stops nobody. Each part is looked at and
// then opened by the directory above it, and what was opened must be what was looked at; who exchanges the two in
// between is refused as well.
//
// What is not seen is a hard link to a file elsewhere: it is that file under another name, and whoever could make it
// could write there.
package confined
