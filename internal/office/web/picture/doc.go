// Package picture draws the flow of mail: a Chart of who wrote to whom, and a Talk of who writes how much to
// whom, as nodes and edges or, of many agents, as a matrix. It makes numbers and paths of messages, and a template
// makes SVG of those; it knows no page and asks no room. Start at NewChart and NewTalk.
package picture
