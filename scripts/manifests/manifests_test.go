package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// root is the directory of the manifests, relative to this one.
const root = "../.."

func described(t *testing.T) *product {
	t.Helper()
	p, err := describe(root)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestMade: every manifest is the generated one, and no other files are in the plugins' directories that have only
// generated files.
func TestMade(t *testing.T) {
	files, err := described(t).files()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(root, name)); !bytes.Equal(got, want) {
			t.Errorf("%s is not what is made of scripts/manifests, VERSION and go.mod: go generate . (%v)", name, err)
		}
	}
	for _, dir := range []string{"plugins", "skills", "hooks", ".agents", ".github/plugin"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			name, err := filepath.Rel(root, path)
			if name = filepath.ToSlash(name); files[name] == nil && name != "skills/pennypost/SKILL.md" {
				t.Errorf("%s is made by nothing", name)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestAddress: another module path is the address everywhere, and its owner the owner in the registry's name.
func TestAddress(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"VERSION": "1.2.3-rc.1\n",
		"go.mod": "module github.com/Ann/post\n\ngo 1.26\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := describe(dir)
	if err != nil || p.Home != "https://github.com/Ann/post" || p.server() != "io.github.Ann/pennypost" ||
		p.Version != "1.2.3-rc.1" {
		t.Errorf("%+v, %v", p, err)
	}
	for _, bad := range []string{"", "v1.2.3", "1.2", "1.2.3 "} {
		if err := os.WriteFile(filepath.Join(dir, "VERSION"), []byte(bad+"x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := describe(dir); err == nil {
			t.Errorf("the version %q was taken", bad+"x")
		}
	}
}

// read returns a manifest.
func read(t *testing.T, name string) object {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	v := object{}
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

// TestListing: the entry of the MCP registry is valid by the registry's own schema, the one that it names, from the
// registry's module. ./test passes its directory.
func TestListing(t *testing.T) {
	dir := os.Getenv("MCP_REGISTRY_SCHEMAS")
	if dir == "" {
		t.Skip("MCP_REGISTRY_SCHEMAS does not say where the schemas are; ./test fetches them")
	}
	listing := read(t, "server.json")
	date := regexp.MustCompile(`/schemas/(\d{4}-\d\d-\d\d)/`).FindStringSubmatch(fmt.Sprint(listing["$schema"]))
	if date == nil {
		t.Fatalf("server.json names the schema %v", listing["$schema"])
	}
	text, err := os.ReadFile(filepath.Join(dir, date[1]+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	rules, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := rules.Validate(map[string]any(listing)); err != nil {
		t.Error(err)
	}
	for what, spoil := range map[string]func(){ // the schema can refuse
		"without a name":   func() { delete(listing, "name") },
		"of no namespace":  func() { listing["name"] = "pennypost" },
		"that says little": func() { listing["description"] = "" },
		"of no packages":   func() { listing["packages"] = "pennypost" },
	} {
		whole := maps.Clone(listing)
		if spoil(); rules.Validate(map[string]any(listing)) == nil {
			t.Errorf("an entry %s is valid", what)
		}
		listing = whole
	}
}

// closed reports members of an object that its schema does not have.
func closed(t *testing.T, what string, v any, members ...string) {
	t.Helper()
	o, ok := v.(map[string]any)
	if !ok {
		t.Errorf("%s is %v, want an object", what, v)
	}
	for member := range o {
		if !slices.Contains(members, member) {
			t.Errorf("%s has the member %q, which its schema does not", what, member)
		}
	}
}

// TestRules checks the requirements of the schemas of Agent Plugins 1.0.0 (agentplugins/agent-plugins-spec: closed at
// every level), which no registry has, and the requirements of the other forms on each other.
func TestRules(t *testing.T) {
	const schemas = "https://agent-plugins.org/schemas/1.0.0/"
	plugin, servers := read(t, "plugin.json"), read(t, "mcp.json")
	closed(t, "plugin.json", map[string]any(plugin), "$schema", "name", "version", "description", "author", "homepage",
		"repository", "license", "keywords", "extensions")
	closed(t, "its author", plugin["author"], "name", "email", "url")
	for member, v := range plugin {
		if _, is := v.(string); !is && !slices.Contains([]string{"author", "keywords", "extensions"}, member) {
			t.Errorf("plugin.json says %v as %s, want a string", v, member)
		}
	}
	if called, _ := plugin["name"].(string); plugin["$schema"] != schemas+"plugin.schema.json" || len(called) > 64 ||
		!regexp.MustCompile(`^[a-z0-9]+([.-][a-z0-9]+)*$`).MatchString(called) {
		t.Errorf("plugin.json is %v, of %v", plugin["name"], plugin["$schema"])
	}
	closed(t, "mcp.json", map[string]any(servers), "$schema", "mcpServers")
	if servers["$schema"] != schemas+"mcp.schema.json" {
		t.Errorf("mcp.json is of %v", servers["$schema"])
	}
	for name, v := range servers["mcpServers"].(map[string]any) {
		closed(t, name, v, "type", "command", "args", "env", "cwd")
		if s := v.(map[string]any); s["type"] != "stdio" || s["command"] != "pennypost" {
			t.Errorf("%s is %v", name, s)
		}
	}
	listing := read(t, "server.json")
	name, _ := listing["name"].(string)
	docker, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(docker), `LABEL io.modelcontextprotocol.server.name="`+name+`"`) {
		t.Errorf("the image does not say that it is %s", name)
	}
	text, err := os.ReadFile(filepath.Join(root, "skills/pennypost/SKILL.md"))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(text); n > 3000 {
		t.Errorf("the skill is %d bytes, want at most 3000: a model reads all of it", n)
	}
}

// TestNPM: the package that everyone installs starts the program of the one for this system, with its arguments, exit
// status and signal, and names a missing one.
func TestNPM(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip(err)
	}
	p, dir := described(t), t.TempDir()
	from := filepath.Join(dir, "from")
	for _, system := range []string{runtime.GOOS + "_" + runtime.GOARCH, "windows_arm64"} {
		in := filepath.Join(from, "pennypost_"+p.Version+"_"+system)
		if err := os.MkdirAll(in, 0o755); err != nil {
			t.Fatal(err)
		}
		const program = "#!/bin/sh\necho \"$@\"\n[ \"$1\" = term ] && kill -TERM $$\nexit 7\n"
		for name, text := range map[string]string{"pennypost": program, "pennypostd": "#!/bin/sh\n",
			"pennypost-nats": "#!/bin/sh\n"} {
			if err := os.WriteFile(filepath.Join(in, name), []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	files, err := p.npm(from)
	if err != nil {
		t.Fatal(err)
	}
	plugin, err := os.ReadFile(filepath.Join(root, "plugins/opencode", openCodeModule))
	if err != nil || !bytes.Equal(files["npm/pennypost/"+openCodeModule], plugin) ||
		!strings.Contains(string(files["npm/pennypost/package.json"]), `"./server": "./`+openCodeModule+`"`) {
		t.Errorf("opencode would load another plugin from npm than from the repository: %v", err)
	}
	own := nodeSystem(runtime.GOOS) + "-" + nodeMachine(runtime.GOARCH)
	for name, text := range files {
		name = strings.TrimPrefix(name, "npm/")
		if rest, ok := strings.CutPrefix(name, own+"/"); ok {
			name = "node_modules/@pennypost/" + own + "/" + rest
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) (string, *os.ProcessState) {
		t.Helper()
		cmd := exec.Command(node, append([]string{filepath.Join(dir, "pennypost/bin/pennypost.js")}, args...)...)
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState
	}
	if out, state := run("send", "two words"); out != "send two words\n" || state.ExitCode() != 7 {
		t.Errorf("%q, %v", out, state)
	}
	if _, state := run("term"); state.ExitCode() != -1 {
		t.Errorf("a program that a signal ended: %v", state)
	}
	if err := os.RemoveAll(filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	if out, state := run("inbox"); !strings.Contains(out, "--omit=optional") || state.ExitCode() != 1 {
		t.Errorf("without the program: %q, %v", out, state)
	}
	if _, err := p.npm(dir); err == nil {
		t.Error("packages of no programs were made")
	}
}
