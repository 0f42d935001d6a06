// Package sitetest has the pages of a post office whose rooms are in memory, a person who has logged in, and what asks
// pages as a browser does. It does not know which pages there are: a test gives New the site. Start at Fixture.
package sitetest
