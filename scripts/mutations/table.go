package main

// table returns the mutations, in the order of the promises.
func table() []mutation {
	return []mutation{
		{
			name: "answer-before-sync", breaks: "P1: a power cut takes mail that was acknowledged",
			file: "internal/room/journal/jsonl/writer.go",
			old:  "} else if err := j.file.Sync(); err != nil {",
			new:  "} else if err := error(nil); err != nil {",
			pkg:  "internal/room/journal/jsonl", test: "TestPowerCuts",
		},
	}
}
