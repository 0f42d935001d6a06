// Package session manages the browsers logged in to the pages. A Link logs one in once; a Session is a logged-in
// browser; Store keeps sessions, also in a file. It knows no page, and only the hash of a cookie. Start at Store.
package session
