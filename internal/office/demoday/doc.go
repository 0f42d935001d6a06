// Package demoday is a day in the life of a post office that newcomers, and tests of pages, can look at: five agents
// and a person, told by scripts under story, and played in real rooms whose clock is the story's.
package demoday
