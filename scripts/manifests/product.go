package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// product is what the manifests say of Pennypost, each in its own way.
type product struct {
	Name, Title string
	// Says is one line of at most 100 characters, which is what the MCP registry takes.
	Says     string
	Version  string // of the file VERSION, without "v"
	Home     string // where the repository is
	Owner    string // of the repository on GitHub; "OWNER" while it has no address there
	License  string
	Keywords []string

	root string // of the repository
}

// unpublished is the address before there is one (scripts/rename-module), which nobody can register.
const unpublished = "https://example.invalid/pennypost"

// moduleLine is the line of go.mod that names the module.
var moduleLine = regexp.MustCompile(`(?m)^module (\S+)$`)

// versionForm is a version as semver.org has it, without metadata of a build.
var versionForm = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

// describe reads what is not the same for ever: version and address.
func describe(root string) (*product, error) {
	p := &product{root: root, Name: "pennypost", Title: "Pennypost", License: "Apache-2.0", Home: unpublished,
		Owner:    "OWNER",
		Says:     "Durable mail between AI agents, and with you: told at start, at every turn and when idle",
		Keywords: []string{"agents", "hooks", "mail", "mcp"}}
	version, err := os.ReadFile(filepath.Join(root, "VERSION"))
	if err != nil {
		return nil, err
	}
	if p.Version = strings.TrimSpace(string(version)); !versionForm.MatchString(p.Version) {
		return nil, fmt.Errorf("VERSION says %q: write one such as 1.2.3", p.Version)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, err
	}
	module := moduleLine.FindSubmatch(mod)
	if module == nil {
		return nil, fmt.Errorf("go.mod names no module")
	}
	host, path, _ := strings.Cut(string(module[1]), "/")
	if strings.Contains(host, ".") {
		p.Home = "https://" + string(module[1])
	}
	if host == "github.com" {
		p.Owner, _, _ = strings.Cut(path, "/")
	}
	return p, nil
}

// server is what the MCP registry calls it, which an npm package and an image have to say too.
func (p *product) server() string { return "io.github." + p.Owner + "/" + p.Name }

// files returns all files of the repository that are made, by their names from its root.
func (p *product) files() (map[string][]byte, error) {
	skill, err := os.ReadFile(filepath.Join(p.root, "skills", p.Name, "SKILL.md"))
	if err != nil {
		return nil, err
	}
	says, err := instructions(skill)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{"internal/office/mcpserver/instructions.md": says}
	for _, dir := range pluginDirs() {
		files[dir+"/skills/"+p.Name+"/SKILL.md"] = skill
	}
	for _, add := range []func(map[string][]byte) error{p.claude, p.codex, p.copilot, p.gemini, p.openCode,
		p.portable, p.registry} {
		if err := add(files); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// instructions are what the MCP server tells a model: the skill without its head, and without what comes under a
// heading.
func instructions(skill []byte) ([]byte, error) {
	head, body, ok := bytes.Cut(skill, []byte("\n---\n\n"))
	body, _, found := bytes.Cut(body, []byte("\n\n## "))
	if !ok || !found || !bytes.HasPrefix(head, []byte("---\n")) {
		return nil, fmt.Errorf("the skill has no head, or nothing under a heading")
	}
	return append(body, '\n'), nil
}

// encode returns v as the manifests are written.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}

// put adds files of JSON.
func put(files map[string][]byte, add map[string]any) error {
	for name, v := range add {
		text, err := encode(v)
		if err != nil {
			return err
		}
		files[name] = text
	}
	return nil
}
