package notify

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"pennypost/internal/base/child"
	"pennypost/internal/base/jsonx"
)

// Command runs a program without a shell. Each {subject}, {text}, {from}, {room}, {url} and {count} in Argv is
// replaced; variables have the same values, and standard input has the whole Note as JSON.
type Command struct {
	Argv    []string
	Env     []string // NAME=value; the note's variables take precedence
	Dir     string
	Timeout time.Duration
}

var _ Channel = (*Command)(nil)

func (c *Command) Send(ctx context.Context, n *Note) (string, error) {
	var from []string
	room := ""
	for i := range n.Letters {
		letter := &n.Letters[i]
		if name := letter.name(); !slices.Contains(from, name) {
			from = append(from, name)
		}
		if i == 0 {
			room = string(letter.Room)
		} else if room != string(letter.Room) {
			room = ""
		}
	}
	values := []struct{ name, value string }{
		{"subject", n.Subject}, {"text", n.Text}, {"from", strings.Join(from, ", ")}, {"room", room}, {"url", n.URL},
		{"count", strconv.Itoa(len(n.Letters))},
	}
	env := append(append([]string{}, c.Env...), "PENNYPOST_HOME="+c.Dir,
		"PENNYPOST_URGENT="+strconv.FormatBool(n.Urgent))
	var names []string
	for _, v := range values {
		names = append(names, "{"+v.name+"}", v.value)
		env = append(env, "PENNYPOST_"+strings.ToUpper(v.name)+"="+v.value)
	}
	argv, err := child.Fill(c.Argv, strings.NewReplacer(names...), "PENNYPOST_SUBJECT and the other variables")
	if err != nil {
		return "", err
	}
	input, err := jsonx.Marshal(n)
	if err != nil {
		return "", err
	}
	cmd := child.Command{Argv: argv, Env: env, Dir: c.Dir, Input: append(input, '\n'), Timeout: c.Timeout}
	output, err := cmd.Run(ctx)
	if err != nil {
		return "", err
	}
	answer := "succeeded"
	if output != "" {
		answer += ": " + child.Plain(output[strings.LastIndexByte(output, '\n')+1:])
	}
	return answer, nil
}
