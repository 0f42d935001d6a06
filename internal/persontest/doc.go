// Package persontest gives tests the terminal of a person: an xterm, on a display that nobody sees, in which the
// commands of a test run. The post office takes a process for its user only where a person sits, and neither a machine
// that runs tests nor an agent that does has such a place. Only tests, and programs that measure, import it.
package persontest
