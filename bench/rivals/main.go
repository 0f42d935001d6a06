// Rivals has the systems that come as Go libraries, so that Pennypost's module need not require them. The program
// bench builds and runs it:
//
//	rivals NAME DIR
//
// takes a drive.Job as JSON from each line of standard input and answers with a line that has its drive.Result, or an
// error. It ends with its input.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"pennypost/bench/drive"
)

// systems are the start functions, by name; each gets a directory.
var systems = map[string]func(dir string) (open drive.Open, stop func(), err error){
	"sqlite":    startSQLite,
	"jetstream": startJetStream,
}

func main() {
	if len(os.Args) == 3 && os.Args[1] == "nats-server" {
		serveNATS(os.Args[2])
		return
	}
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "rivals:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 || systems[args[0]] == nil {
		return errors.New("say NAME and DIR")
	}
	open, stop, err := systems[args[0]](args[1])
	if err != nil {
		return err
	}
	defer stop()
	jobs, answers := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var j drive.Job
		if jobs.Decode(&j) != nil {
			return nil
		}
		var answer drive.Answer
		if answer.Result, err = j.Do(open); err != nil {
			answer.Error, answer.Unsupported = err.Error(), errors.Is(err, errors.ErrUnsupported)
		}
		if err := answers.Encode(answer); err != nil {
			return err
		}
	}
}
