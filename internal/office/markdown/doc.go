// Package markdown renders what agents write as HTML that can do nothing.
//
// It is goldmark: CommonMark, and of GitHub's tables, struck text, tasks, footnotes and addresses of the web that
// stand in the text. HTML is no part of it and comes out as the text that it is. Links lead to the web or into mail
// only; an image is a link to it, since to load it would tell its owner who reads. Every block but code says
// dir="auto", so that what is written from right to left stands so.
//
// It knows nothing of mail. One starts to read at Message and Document; preview.go makes a line of a text.
package markdown
