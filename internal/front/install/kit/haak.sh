#!/bin/sh
# pennypost haak install wrote this (seal 00000000); pennypost haak uninstall takes it out unless it was edited.
#
# check-mailbox.sh SESSION prints the new mail of a session, and marks it read. With --hook the session is
# $PENNYPOST_AGENT, or else the one that Claude Code names on standard input; with --end that session has ended. Without
# new mail it prints nothing, and it always succeeds: an agent starts with its mail, or without.

noted=@PROGRAM@ # pennypost's path when this was written
program=$(command -v pennypost) || program=$noted

session=${1-}
verb=check-mailbox
case $session in
--hook | --end)
	[ "$session" = --hook ] || verb=session-end
	named=$(sed -n 's/.*"session_id" *: *"\([^"\\]*\)".*/\1/p')
	session=${PENNYPOST_AGENT:-$named}
	;;
esac

if [ -n "$session" ] && [ -x "$program" ] && cd "$(dirname "$0")/../.."; then
	"$program" haak "$verb" --session-id "$session"
fi
exit 0
