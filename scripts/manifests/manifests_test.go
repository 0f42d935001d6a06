package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// root is where the manifests are, from here.
const root = "../.."

func described(t *testing.T) *product {
	t.Helper()
	p, err := describe(root)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestMade: every manifest is the one that is made of what is said here, and nothing else lies beside those of plugins
// that hold nothing else.
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

// TestAddress: another module's path is the address everywhere, and its owner that of the registry's name.
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

// TestRules holds what the schemas ask that cannot be had here: agent-plugins.org/schemas/1.0.0, closed, and that of
// the MCP registry, 2025-12-11.
func TestRules(t *testing.T) {
	read := func(name string) object {
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
	known := []string{"$schema", "name", "version", "description", "author", "homepage", "repository", "license",
		"keywords", "extensions"}
	for member := range read("plugin.json") {
		if !slices.Contains(known, member) {
			t.Errorf("plugin.json has the member %q, which its schema does not", member)
		}
	}
	if got := slices.Sorted(maps.Keys(read("mcp.json"))); !slices.Equal(got, []string{"$schema", "mcpServers"}) {
		t.Errorf("mcp.json has the members %q", got)
	}
	listing := read("server.json")
	name, _ := listing["name"].(string)
	says, _ := listing["description"].(string)
	if !regexp.MustCompile(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`).MatchString(name) || len(says) == 0 || len(says) > 100 {
		t.Errorf("server.json is called %q and says %q", name, says)
	}
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

// TestNPM: the package that everybody installs starts the program of the one for this system, with its arguments, exit
// status and signal, and says what is missing where that is.
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
		for name, text := range map[string]string{"pennypost": program, "pennypostd": "#!/bin/sh\n"} {
			if err := os.WriteFile(filepath.Join(in, name), []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	files, err := p.npm(from)
	if err != nil {
		t.Fatal(err)
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
