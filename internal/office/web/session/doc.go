// Package session says which browsers are logged in to the pages. A Link logs one in, once; a Session is one that is,
// and Store keeps them, in a file too. It knows no page, and of a cookie only the hash. Start at Store.
package session
