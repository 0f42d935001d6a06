// Package sitetest has the pages of a post office with rooms in memory, a logged-in person, and requests like a
// browser's. It knows no particular pages: a test passes the site to New. Start at Fixture.
package sitetest
