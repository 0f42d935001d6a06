package install

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// copilot is GitHub Copilot CLI 1.0 (docs.github.com: hooks reference; add-mcp-servers; extensions: its own
// copilot-sdk/docs; seen with 1.0.102). It reads hooks from files of any name, so we have a file of our own.
func copilot() Client {
	return Client{
		Name: "copilot", Title: "Copilot CLI", Program: "copilot", Scopes: []Scope{User, Project},
		resume: []string{"-p", doorPrompt, "--resume={session}", "--allow-tool=pennypost"},
		allows: "the hook permissionRequest",
		files: func(o *Options) []file {
			servers, hooksFile := copilotPlaces(o)
			hooks := &jsonHooks{client: "copilot"}
			for _, ev := range []string{"sessionStart", "userPromptSubmitted", "preToolUse", "postToolUse",
				"postToolUseFailure", "agentStop", "errorOccurred", "sessionEnd", "notification",
				"permissionRequest"} {
				h := copilotHook{Type: "command", Timeout: seconds(ev)}
				command := hookCommand(o, "copilot", ev)
				if o.GOOS == "windows" {
					command = "& " + command
					h.PowerShell = command
				} else {
					h.Bash = command
				}
				hooks.events = append(hooks.events, jsonHook{ev, command, raw(h)})
			}
			server := stdioServer{Type: "local", Command: o.Binary, Args: mcpArgs(o), Tools: []string{"*"}}
			files := []file{
				{servers, "MCP server", &jsonFile{o: o, server: &jsonServer{in: "mcpServers", value: raw(server)}}},
				{hooksFile, "hooks", &jsonFile{o: o, scaffold: hooksVersion(), hooks: hooks,
					allows: copilotAllows(o)}},
			}
			if o.Scope == User {
				files = append(files, file{copilotExtension(o), "extension that wakes", copilotWaker(o)})
			}
			return files
		},
		notes: copilotNotes,
		warns: copilotWarns,
		disabled: hooksOff(func(o *Options) []string {
			_, path := copilotPlaces(o)
			return []string{path}
		}),
	}
}

// copilotPlaces returns the files for MCP servers and for our hooks.
func copilotPlaces(o *Options) (servers, hooks string) {
	if o.Scope == Project {
		return filepath.Join(o.Root, ".github", "mcp.json"),
			filepath.Join(o.Root, ".github", "hooks", "pennypost.json")
	}
	dir := copilotHome(o)
	return filepath.Join(dir, "mcp-config.json"), filepath.Join(dir, "hooks", "pennypost.json")
}

// copilotHook has a command line for each shell.
type copilotHook struct {
	Type       string `json:"type"`
	Matcher    string `json:"matcher,omitempty"`
	Bash       string `json:"bash,omitempty"`
	PowerShell string `json:"powershell,omitempty"`
	Timeout    int    `json:"timeoutSec"`
}

// copilotAllows is the hook that allows our tools before Copilot asks. Copilot has no other rule that applies in all
// projects (github/copilot-cli#179), and this one names our tools and runs none of our programs.
func copilotAllows(o *Options) *allowance {
	const yes = `'{"behavior":"allow"}'`
	h := copilotHook{Type: "command", Matcher: "^" + serverName + "/.+$", Bash: "echo " + yes, Timeout: hookTimeout}
	if o.GOOS == "windows" {
		h.Bash, h.PowerShell = "", "Write-Output "+yes
	}
	return &allowance{[]string{"hooks", "permissionRequest"}, raw(h)}
}

// copilotHome is Copilot's directory.
func copilotHome(o *Options) string {
	return o.dir("COPILOT_HOME", ".copilot")
}

// copilotExtension is the path of our extension. Copilot runs extensions if they are turned on: an experiment of
// theirs.
func copilotExtension(o *Options) string {
	return filepath.Join(copilotHome(o), "extensions", "pennypost", "extension.mjs")
}

// copilotDialogs is the line of our extension that makes it bring dialogs to the desk.
const copilotDialogs = "\nconst dialogs = true\n"

// copilotWaker returns the extension. Once it brings dialogs to the desk it keeps doing so until it is uninstalled.
func copilotWaker(o *Options) *ownFile {
	before, _ := os.ReadFile(copilotExtension(o)) // for one that cannot be read, put returns an error
	more := "\nconst dialogs = false\n"
	if o.Dialogs || strings.Contains(string(before), copilotDialogs) {
		more = copilotDialogs
	}
	return &ownFile{text: extensionHead(o, "copilot") + more + extensionText("common") + extensionText("copilot")}
}

// copilotNotes name Copilot's questions, and say how idle sessions are woken.
func copilotNotes(o *Options) []string {
	notes := append(projectNote(o),
		"In a new folder Copilot CLI asks whether you trust it: answer \"Yes, and remember\".")
	if o.Scope == User && o.Dialogs {
		notes = append(notes, "When it starts it asks whether the extension may handle permission requests: "+
			"answer \"Yes, and always allow\". Then you can also answer its dialogs from your desk.")
	}
	if o.Scope == User {
		notes = append(notes,
			"Idle sessions are woken by an extension, which Copilot CLI runs if its extensions are on (an "+
				"experimental feature; or start it with --experimental): copilot config "+
				copilotFlags+"."+copilotExtensions+" true")
	}
	return notes
}

// The member of Copilot's settings that turns extensions on.
const (
	copilotFlags      = "enabledFeatureFlags"
	copilotExtensions = "EXTENSIONS"
)

// copilotWarns names Copilot's questions in this project, and says whether idle sessions can be woken.
func copilotWarns(o *Options) (out []string) {
	settings := jsonOf(filepath.Join(copilotHome(o), "settings.json"))
	if asks := copilotAsks(o); len(asks) > 0 && settings.Member("defaultPermissionMode").Text() != "allow-all" {
		out = append(out, "it asks before "+strings.Join(asks, ", ")+", and an agent that is alone waits there: "+
			"pennypost install copilot")
	}
	folders := texts(jsonOf(filepath.Join(copilotHome(o), "config.json")).Member("trustedFolders"))
	out = append(out, trustsFolder(o, slices.ContainsFunc(folders, func(f string) bool { return within(o.Root, f) }),
		"Yes, and remember")...)
	if o.Scope == User && !isTrue(settings.At(copilotFlags, copilotExtensions)) &&
		!isTrue(settings.Member("experimental")) {
		out = append(out, "idle sessions are woken only if its extensions are on: copilot config "+
			copilotFlags+"."+copilotExtensions+" true")
	}
	return out
}

// copilotAsks returns our writing tools that neither our hook nor Copilot's user has allowed for the project. Copilot
// asks about no others (seen in 1.0.102).
func copilotAsks(o *Options) []string {
	for _, scope := range []Scope{User, Project} {
		in := *o
		in.Scope = scope
		_, hooks := copilotPlaces(&in)
		if text, _ := os.ReadFile(hooks); copilotAllows(o).in(text) {
			return nil
		}
	}
	asks := []string{"send_message", "mark_messages", "set_presence"}
	allowed := jsonOf(filepath.Join(copilotHome(o), "permissions-config.json")).At("locations", o.Root,
		"tool_approvals")
	if allowed == nil {
		return asks
	}
	for _, it := range allowed.Items {
		if it.Value.Member("serverName").Text() == serverName {
			tool := it.Value.Member("toolName").Text()
			asks = slices.DeleteFunc(asks, func(name string) bool { return tool == "" || tool == name })
		}
	}
	return asks
}
