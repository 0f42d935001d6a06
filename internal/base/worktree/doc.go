// Package worktree finds the tree of files that a path is in, and its position there, so that two names of one file
// are recognised: through links, mounts of the tree, or letters in another case on a disk that ignores it.
//
// A tree is a working tree of Git: the directory with .git in it, whether of a repository, one of its worktrees or a
// submodule. Other files belong to the session's directory or, outside of that, to their own.
//
// No program is run: a repository's configuration names programs. Files are described and not opened, except
// .gitignore, which is opened through package confined. A file system that does not answer blocks the caller.
//
// A hard link is another file here. So is a file below a mount of part of a tree, from which the top cannot be seen.
package worktree
