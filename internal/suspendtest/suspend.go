// Package suspendtest stops processes of tests from running, as Ctrl-Z or a debugger would.
package suspendtest
