#!/bin/sh
# pennypost haak install wrote this (seal 00000000); pennypost haak uninstall takes it out unless it was edited.
#
# check-mailbox.sh SESSION prints what is new for a session, and marks it read. With --hook it is $PENNYPOST_AGENT, or
# else the session that Claude Code names on standard input; with --end that session has ended. It prints nothing if
# there is nothing, and always succeeds: an agent starts with its mail, or without.

noted=@PROGRAM@ # where pennypost was when this was written
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
