// Package persontest gives tests the terminal of a person: an xterm on a virtual display, in which the test's
// commands run. The post office accepts a process as its user's only at a person's terminal, which neither test
// machines nor agents that run tests have. Only tests, and programs that measure, import it.
package persontest
