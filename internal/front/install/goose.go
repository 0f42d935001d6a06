package install

import "path/filepath"

// goose is Goose (block.github.io/goose/docs/guides/config-files, 2026). It rewrites its file itself, without comments
// and in its own order.
func goose() Client {
	return Client{
		Name: "goose", Title: "Goose", Program: "goose", Scopes: []Scope{User},
		files: func(o *Options) []file {
			dir := filepath.Join(o.xdgConfig(), "goose")
			if o.GOOS == "windows" {
				dir = o.configDir("Block", "goose", "config")
			}
			return []file{{filepath.Join(dir, "config.yaml"), "extension", &yamlFile{o: o}}}
		},
		notes: func(*Options) []string { return []string{restart, noHooks} },
	}
}
