package cli

import (
	"fmt"
	"io"
	"iter"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/wording"
	"pennypost/internal/config"
	"pennypost/internal/mail"
)

// Printer writes answers. Its methods keep the first error in err, so that a command looks at it once, at the end.
type Printer struct {
	To    io.Writer
	Color bool
	Wide  int // columns of the terminal; 0: not a terminal, so nothing is cut
	Now   time.Time
	err   error
}

// NewPrinter returns a printer for the standard output of env.
func NewPrinter(env Env) *Printer {
	return &Printer{
		To: env.Stdout, Now: time.Now(), Wide: wideness(env.Stdout, env),
		Color: IsTerminal(env.Stdout) && env.Getenv("NO_COLOR") == "" && env.Getenv("TERM") != "dumb",
	}
}

// wideness returns the columns of an output: the terminal's, or $COLUMNS if set, or 80 if unknown; 0 if it is not a
// terminal.
func wideness(to any, env Env) int {
	file, ok := to.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	if n, err := strconv.Atoi(env.Getenv("COLUMNS")); err == nil && n > 0 {
		width = n
	}
	if width == 0 {
		width = 80
	}
	return max(width, 20)
}

// IsTerminal reports whether f is a file that is a terminal.
func IsTerminal(f any) bool {
	file, ok := f.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// Line writes a line, or several if the terminal is narrower. It does not break words.
func (p *Printer) Line(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if p.Wide > 0 {
		var lines []string
		for line := range strings.SplitSeq(text, "\n") {
			lines = append(lines, p.wrap(line, 0)...)
		}
		text = strings.Join(lines, "\n")
	}
	p.Write(text + "\n")
}

// Write writes text. It makes harmless for a terminal anything that a command left unsafe; our colours pass.
func (p *Printer) Write(s string) { p.exact(visible(s, colours)) }

// exact writes bytes that are not text for a terminal.
func (p *Printer) exact(s string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.To, s)
	}
}

// Barred writes another's text unchanged, each line after a bar: no line can pass for ours, even where the terminal
// is narrower than the line.
func (p *Printer) Barred(text string) {
	if p.Wide > 0 {
		text = strings.ReplaceAll(text, "\t", "    ")
	}
	for line := range strings.SplitSeq(text, "\n") {
		for part := range p.cut(line, p.Wide-columnsOfBar) {
			p.Write("  │ " + part + "\n")
		}
	}
}

// columnsOfBar is the width of a bar and of the margin at the end of a line.
const columnsOfBar = 5

// cut yields text in parts of width columns, whatever it contains. Text that is not for a terminal stays whole.
func (p *Printer) cut(text string, width int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for p.Wide > 0 && Columns(text) > width {
			end, filled := len(text), 0
			for i, r := range text {
				if filled += Columns(string(r)); filled > width && i > 0 {
					end = i
					break
				}
			}
			if !yield(text[:end]) {
				return
			}
			text = text[end:]
		}
		yield(text)
	}
}

// Err is the first write error, after which nothing more is written.
func (p *Printer) Err() error { return p.err }

// Value writes v as a line of JSON.
func (p *Printer) Value(v any) {
	b, err := jsonx.Marshal(v)
	if p.err == nil {
		p.err = err
	}
	p.exact(string(b) + "\n")
}

// Bold marks the important text.
func (p *Printer) Bold(s string) string { return p.paint("1", s) }

// Dim marks secondary text.
func (p *Printer) Dim(s string) string { return p.paint("2", s) }

// Red marks urgent or wrong things.
func (p *Printer) Red(s string) string { return p.paint("31", s) }

// WhiteOnBlack is for text that needs contrast: its black is black, whatever the terminal's colours.
func (p *Printer) WhiteOnBlack(s string) string { return p.paint("38;5;231;48;5;16", s) }

func (p *Printer) paint(code, s string) string {
	if !p.Color || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + noColour
}

const noColour = "\x1b[0m"

// colours are the escape sequences that we write.
const colours = "\x1b[1m \x1b[2m \x1b[31m \x1b[38;5;231;48;5;16m " + noColour

// Ago formats the time since t.
func (p *Printer) Ago(t mail.Time) string {
	if t == 0 {
		return "never"
	}
	switch d := p.Now.Sub(t.Std()); {
	case d < -time.Minute:
		return t.Std().Local().Format("2006-01-02 15:04")
	case d < time.Minute:
		return "just now"
	case d < wording.Old:
		return wording.Span(d) + " ago"
	}
	return t.Std().Local().Format(time.DateOnly)
}

// Moment formats a past or future time.
func (p *Printer) Moment(t mail.Time) string {
	at, layout := t.Std().Local(), "2006-01-02 15:04"
	if at.Format(time.DateOnly) == p.Now.Local().Format(time.DateOnly) {
		layout = "15:04"
	}
	return at.Format(layout)
}

// Brief shortens the result of Ago.
func Brief(ago string) string {
	return wording.Brief(strings.NewReplacer("just ", "", " ago", "").Replace(ago))
}

// left formats the time until t.
func (p *Printer) left(t mail.Time) string {
	d := t.Std().Sub(p.Now)
	if d <= 0 {
		return "expired"
	}
	return wording.Span(max(d, time.Minute)) + " left"
}

// Size formats a number of bytes.
func Size(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d B", n)
	case n < 10_000_000:
		return fmt.Sprintf("%d kB", n/1000)
	}
	return fmt.Sprintf("%d MB", n/1_000_000)
}

// Field prints a line of a message's head, if it has a value.
func (p *Printer) Field(name, value string) {
	if value != "" {
		const margin = 9
		for _, line := range p.wrap(value, margin) {
			p.Write(p.Dim(Pad(name, margin)) + line + "\n")
			name = ""
		}
	}
}

// InTerminal reports whether a person sees the command's output, and can type.
func (a *App) InTerminal() bool { return IsTerminal(a.Env.Stdin) && IsTerminal(a.Stdout.To) }

// Until says how long something that ends at t is valid; 0 is forever.
func (a *App) Until(t mail.Time) string {
	switch {
	case t == 0:
		return "until revoked"
	case t.Std().Before(a.Out.Now):
		return a.Out.Red("over")
	}
	return a.Out.left(t)
}

// Seconds parses a finite span of time.
func Seconds(s string) (int64, error) {
	d, err := config.ParseDuration(s)
	if err == nil && d < config.Duration(time.Second) {
		err = mail.Errorf(mail.Invalid, "%q is not a limited span of time: write it like 30m, 12h or 90d", s)
	}
	return int64(time.Duration(d) / time.Second), err
}

// Onward is the person's command line with one flag changed, which shows the next part of a list.
func (a *App) Onward(flag, value string) string {
	words := []string{"pennypost"}
	for i := 0; i < len(a.args); i++ {
		word := a.args[i]
		if word == "--"+flag {
			i++
			continue
		}
		if !strings.HasPrefix(word, "--"+flag+"=") {
			words = append(words, Quoted(word))
		}
	}
	return strings.Join(append(words, "--"+flag, Quoted(value)), " ")
}

// Quoted is a word in shell quotes, without terminal control characters.
func Quoted(word string) string {
	return wording.Shell(OneLine(word))
}
