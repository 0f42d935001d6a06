// Package demoday is a day in the life of a post office that newcomers, and tests of pages, can look at: five agents
// and a person. The journals below story tell it; Write moves them to the day that ends now, and Life goes on from
// there. To tell more, keep the data of a demo --serve, do there what is to be seen, and add the lines of its journal
// to the story, without seq, prev and crc.
package demoday
