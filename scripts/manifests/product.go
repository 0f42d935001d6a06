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

// product is the description of Pennypost for the manifests, each of which states it in its own form.
type product struct {
	Name, Title string
	// Says is one line of at most 100 characters, the limit of the MCP registry.
	Says     string
	Version  string // of the file VERSION, without "v"
	Home     string // address of the repository
	Owner    string // of the repository on GitHub; "OWNER" while it has no address there
	License  string
	Keywords []string

	root string // of the repository
}

// unpublished is the address until there is one (scripts/rename-module); no one can register it.
const unpublished = "https://example.invalid/pennypost"

// moduleLine is the line of go.mod that names the module.
var moduleLine = regexp.MustCompile(`(?m)^module (\S+)$`)

// versionForm matches a version of semver.org without build metadata.
var versionForm = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

// describe reads the variable parts: version and address.
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

// server is the product's name in the MCP registry, which an npm package and an image have to state too.
func (p *product) server() string { return "io.github." + p.Owner + "/" + p.Name }

// files returns all generated files of the repository, by name relative to its root.
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

// instructions are the MCP server's text for a model: the skill without its head, and without the parts under a
// heading.
func instructions(skill []byte) ([]byte, error) {
	head, body, ok := bytes.Cut(skill, []byte("\n---\n\n"))
	body, _, found := bytes.Cut(body, []byte("\n\n## "))
	if !ok || !found || !bytes.HasPrefix(head, []byte("---\n")) {
		return nil, fmt.Errorf("the skill has no head, or nothing under a heading")
	}
	return append(body, '\n'), nil
}

// encode returns v in the manifests' format.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}

// put adds JSON files.
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
