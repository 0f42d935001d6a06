// Package flow is the page of that name: the mail of some hours as a sequence and as who talks to whom, and who waits
// for whom now. What is drawn is computed in package picture. Start at Pages.
package flow
