// Package demoday is a day of a post office with five agents and a person, for newcomers and for tests of pages. The
// journals in story contain it; Write shifts them so that the day ends now, and Life continues from there. To extend
// it, keep the data of a demo --serve, act there, and append the new lines of its journal to the story, without seq,
// prev and crc.
package demoday
