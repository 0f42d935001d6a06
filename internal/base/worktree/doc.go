// Package worktree says in which tree of files a path is, and where in it, so that two names of one file can be seen
// to be one: by way of links, mounts of the tree, or letters in another case on a disk that ignores it.
//
// A tree is a working tree of Git: the directory with .git in it, be it a repository, one of its worktrees or a
// submodule. Files that are in none belong to the session's directory or, outside of that, to their own.
//
// Nothing is run: a repository's configuration names programs. Files are described and not opened, except .gitignore,
// which is opened through package confined. A file system that does not answer holds the caller up, as it does anyone.
//
// A hard link is another file here. So is a file below a mount of part of a tree, whose top is not to be seen from it.
package worktree
