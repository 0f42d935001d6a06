// Package markdown renders agents' text as HTML that can do no harm.
//
// It uses goldmark: CommonMark, and GitHub's tables, struck text, tasks, footnotes and bare web addresses. HTML is not
// supported and comes out as text. Links lead only to the web or into mail; an image becomes a link to it, since
// loading it would tell its owner who reads. Every block except code has dir="auto", so that text written from right
// to left is shown that way.
//
// It knows nothing of mail. Start reading at Message and Document; preview.go makes one line of a text.
package markdown
