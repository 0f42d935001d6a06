package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// Printer writes answers. Its methods keep the first error in err, so that a command looks at it once, at the end.
type Printer struct {
	w     io.Writer
	color bool
	now   time.Time
	err   error
}

// NewPrinter returns what writes answers to the standard output of env.
func NewPrinter(env Env) *Printer {
	return &Printer{
		w: env.Stdout, now: time.Now(),
		color: IsTerminal(env.Stdout) && env.Getenv("NO_COLOR") == "" && env.Getenv("TERM") != "dumb",
	}
}

// IsTerminal reports whether f is a character device: a terminal, or /dev/null, to which it makes no difference.
func IsTerminal(f any) bool {
	file, ok := f.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Line writes a line.
func (p *Printer) Line(format string, args ...any) {
	p.write(fmt.Sprintf(format, args...) + "\n")
}

func (p *Printer) write(s string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, s)
	}
}

// Value writes v as a line of JSON.
func (p *Printer) Value(v any) {
	b, err := jsonx.Marshal(v)
	if p.err == nil {
		p.err = err
	}
	p.write(string(b) + "\n")
}

// said answers a verb that has little to say: v with --json, else a line.
func (a *App) said(v any, format string, args ...any) error {
	if a.JSON {
		a.Out.Value(v)
	} else {
		a.Out.Line(format, args...)
	}
	return nil
}

// The colours: Bold for what matters, dim for what surrounds it, red for what is urgent or wrong.
func (p *Printer) Bold(s string) string { return p.paint("1", s) }
func (p *Printer) Dim(s string) string  { return p.paint("2", s) }
func (p *Printer) red(s string) string  { return p.paint("31", s) }

func (p *Printer) paint(code, s string) string {
	if !p.color || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// Table writes rows in columns, two spaces apart, the last one ragged. dim says which column is background.
func (p *Printer) Table(rows [][]string, dimmed ...int) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], columns(cell))
		}
	}
	var all []byte // written at once: a line a system call would cost more than the rest
	for _, row := range rows {
		for i, cell := range row {
			if i < len(row)-1 {
				cell = pad(cell, widths[i]+2)
			}
			if slices.Contains(dimmed, i) {
				cell = p.Dim(cell)
			}
			all = append(all, cell...)
		}
		all = append(bytes.TrimRight(all, " "), '\n')
	}
	p.write(string(all))
}

// ago says how long t is past.
func (p *Printer) ago(t mail.Time) string {
	if t == 0 {
		return "never"
	}
	switch d := p.now.Sub(t.Std()); {
	case d < -time.Minute:
		return t.Std().Local().Format("2006-01-02 15:04")
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", d/time.Hour)
	case d < 30*24*time.Hour:
		return fmt.Sprintf("%d days ago", d/(24*time.Hour))
	}
	return t.Std().Local().Format("2006-01-02")
}

// left says how long t is ahead.
func (p *Printer) left(t mail.Time) string {
	switch d := t.Std().Sub(p.now); {
	case d <= 0:
		return "expired"
	case d < time.Hour:
		return fmt.Sprintf("%d min left", max(1, d/time.Minute))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h left", d/time.Hour)
	default:
		return fmt.Sprintf("%d days left", d/(24*time.Hour))
	}
}

// size says a number of bytes.
func size(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d B", n)
	case n < 10_000_000:
		return fmt.Sprintf("%d kB", n/1000)
	}
	return fmt.Sprintf("%d MB", n/1_000_000)
}
