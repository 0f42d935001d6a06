package cli

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// release is set when a release is built: -ldflags "-X pennypost/internal/front/cli.release=v1.2.3".
var release string

// Version returns the release, else what the go command recorded of the source.
func Version() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	revision, modified := "", ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case "vcs.modified":
			if s.Value == "true" {
				modified = "+changes"
			}
		}
	}
	if revision == "" {
		return "devel"
	}
	return "devel-" + revision + modified
}

// Released says that this program is from a release, and not built by its user.
func Released() bool { return release != "" }

// Module is the path of the module, which is the address of its releases once it has one.
func Module() string {
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return ""
	}
	return info.Main.Path
}

// build is the answer of the version verb.
type build struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func newVersion(a *App) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "print the version", Long: "Print the version of this program, like --version.",
		Args: NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b := build{Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH}
			return a.Said(nil, b, "pennypost %s (%s, %s/%s)", b.Version, b.Go, b.OS, b.Arch)
		},
	}
}
