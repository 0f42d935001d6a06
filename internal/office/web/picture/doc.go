// Package picture draws the flow of mail: a Chart of letters, and a Talk of how much agents write to each other, as a
// graph or, for many agents, as a matrix. It computes numbers and paths, which a template turns into SVG; it knows no
// page and queries no room. Start at NewChart and NewTalk.
package picture
