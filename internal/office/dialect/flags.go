package dialect

import (
	"strconv"

	"github.com/spf13/pflag"

	"pennypost/internal/mail"
)

// Bind defines the verb's flags on fs. After fs has parsed, the returned function fills in an invocation and reports
// missing flags and arguments.
func (v *Verb) Bind(fs *pflag.FlagSet) (collect func(*Invocation) error) {
	for _, f := range v.Flags {
		switch f.Kind {
		case Switch:
			fs.Bool(f.Name, f.Default == "true", f.Usage)
		case Number:
			n, _ := strconv.Atoi(f.Default)
			fs.Int(f.Name, n, f.Usage)
		default:
			fs.String(f.Name, f.Default, f.Usage)
		}
	}
	return func(in *Invocation) error {
		in.Values, in.Given = make(map[string]string), make(map[string]bool)
		for _, f := range v.Flags {
			flag := fs.Lookup(f.Name)
			in.Values[f.Name], in.Given[f.Name] = flag.Value.String(), flag.Changed
			if f.Required && flag.Value.String() == "" {
				return mail.Errorf(mail.Invalid, "the flag --%s is needed", f.Name)
			}
		}
		if n := len(in.Args); n < v.MinArgs || v.MaxArgs >= 0 && n > v.MaxArgs {
			return mail.Errorf(mail.Invalid, "%s takes %s, and got %d arguments", v.Path, v.arguments(), n)
		}
		return nil
	}
}

func (v *Verb) arguments() string {
	if v.Args == "" {
		return "no arguments"
	}
	return v.Args
}
