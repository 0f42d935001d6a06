// Package confined touches files in a directory to which others can write, so that nothing they put there leads
// anywhere else.
//
// A person names the directory, and may name it by way of links. Below it no part of a path may be a link: one that
// stays inside is refused too, because it can lead to a hook of the repository that holds it. Files that are not
// regular are refused, and all are opened without waiting, so that a pipe without a reader holds nobody up. Each part
// of a path is looked at and then opened through the directory above it, and what was opened must be what was looked
// at; if somebody exchanged it in between, it is refused too.
//
// A hard link to a file elsewhere is not detected: it is that file under another name, and whoever could make it could
// write there.
package confined
