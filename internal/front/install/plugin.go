package install

import "pennypost/internal/mail"

// PluginHooks returns the hooks of a client for our plugin, in the form of the client's own file of hooks: they start
// the program by its name, which must be on the PATH. It knows claude, codex, gemini and copilot.
func PluginHooks(client string) ([]byte, error) {
	o := pluginOptions()
	c, err := Find(client)
	if err != nil {
		return nil, err
	}
	for _, f := range c.files(o) {
		if j, ok := f.editor.(*jsonFile); ok && j.hooks != nil {
			return (&jsonFile{o: o, scaffold: j.scaffold, hooks: j.hooks}).put(nil)
		}
	}
	return nil, mail.Errorf(mail.Invalid, "the hooks of %s are in no file of JSON", c.Title)
}

// PluginModule returns opencode's plugin as a JavaScript module that starts the program by its name.
func PluginModule() []byte {
	const client = "opencode"
	return []byte("// Pennypost's plugin for opencode. The program pennypost must be on the PATH.\n" +
		extensionConstants(pluginOptions(), client) + extensionBody(client))
}

func pluginOptions() *Options {
	return &Options{Scope: User, Home: "/", Root: "/", Getenv: func(string) string { return "" }, GOOS: "linux",
		Binary: "pennypost"}
}
