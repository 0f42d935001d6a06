package main

import (
	_ "embed"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"pennypost/internal/front/install"
)

// registry adds the files for registries and for those who look for Pennypost.
func (p *product) registry(files map[string][]byte) error {
	if err := p.llms(files); err != nil {
		return err
	}
	docker, err := os.ReadFile(filepath.Join(p.root, "Dockerfile"))
	if err != nil {
		return err
	}
	files["Dockerfile"] = imageLabel.ReplaceAll(docker, []byte("${1}"+p.server()+`"`))
	return put(files, map[string]any{"server.json": p.listing()})
}

// imageLabel matches the label that names an image's entry in the MCP registry.
var imageLabel = regexp.MustCompile(`(?m)^(LABEL io\.modelcontextprotocol\.server\.name=")[^"]*"`)

// listing is the entry of the MCP registry (modelcontextprotocol.io/registry: package-types, and its schema of
// 2025-12-11): the program through npm, and the post office as an image, whose MCP runs over HTTP.
func (p *product) listing() object {
	image := "ghcr.io/" + strings.ToLower(p.Owner) + "/" + p.Name + ":" + p.Version
	return object{
		"$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
		"name":    p.server(), "title": p.Title, "description": p.Says, "version": p.Version, "websiteUrl": p.Home,
		"repository": object{"url": p.Home, "source": "github"},
		"packages": []object{
			{"registryType": "npm", "identifier": p.Name, "version": p.Version,
				"transport":        object{"type": "stdio"},
				"packageArguments": []object{{"type": "positional", "value": "mcp"}}},
			{"registryType": "oci", "identifier": image,
				"transport": object{"type": "streamable-http", "url": "http://127.0.0.1:8765/mcp",
					"headers": []object{{"name": "Authorization", "isRequired": true, "isSecret": true,
						"description": "Bearer and an agent's token: pennypost agents token NAME"}}}},
		},
	}
}

//go:embed llms.txt.tmpl
var llmsText string

// llms adds llms.txt (llmstxt.org), with which a model finds the documentation.
func (p *product) llms(files map[string][]byte) error {
	t, err := template.New("llms.txt").Parse(llmsText)
	if err != nil {
		return err
	}
	var b strings.Builder
	if err := t.Execute(&b, p); err != nil {
		return err
	}
	files["llms.txt"] = []byte(b.String())
	return nil
}

//go:embed launch.js
var launcher string

// npm returns the npm packages of programs (docs.npmjs.com: package.json): one that everyone installs, which starts
// the program of another, and one for each system, of which npm installs the right one. The directories in from are
// those that scripts/release makes, such as pennypost_1.2.3_linux_amd64.
func (p *product) npm(from string) (map[string][]byte, error) {
	files := map[string][]byte{}
	platforms := map[string]string{}
	dirs, err := filepath.Glob(filepath.Join(from, p.Name+"_"+p.Version+"_*_*"))
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		parts := strings.Split(filepath.Base(dir), "_")
		system, machine := nodeSystem(parts[2]), nodeMachine(parts[3])
		name := "@" + p.Name + "/" + system + "-" + machine
		platforms[name] = p.Version
		sub := "npm/" + system + "-" + machine + "/"
		programs, err := filepath.Glob(filepath.Join(dir, p.Name+"*"))
		if err != nil {
			return nil, err
		}
		for _, program := range programs {
			if files[sub+"bin/"+filepath.Base(program)], err = os.ReadFile(program); err != nil {
				return nil, err
			}
		}
		if err := put(files, map[string]any{sub + "package.json": p.npmPackage(name, object{
			"os": []string{system}, "cpu": []string{machine}, "files": []string{"bin"}})}); err != nil {
			return nil, err
		}
	}
	if len(platforms) == 0 {
		return nil, fmt.Errorf("%s has no directory such as %s_%s_linux_amd64", from, p.Name, p.Version)
	}
	bin := object{}
	for _, program := range []string{p.Name, p.Name + "d"} {
		bin[program] = "bin/" + program + ".js"
		known := fmt.Sprintf("%q", slices.Sorted(maps.Keys(platforms)))
		files["npm/"+p.Name+"/bin/"+program+".js"] = []byte(strings.NewReplacer("PROGRAM", program, "KNOWN",
			strings.ReplaceAll(known, `" "`, `", "`)).Replace(launcher))
	}
	files["npm/"+p.Name+"/"+openCodeModule] = install.PluginModule()
	return files, put(files, map[string]any{"npm/" + p.Name + "/package.json": p.npmPackage(p.Name, object{
		"bin": bin, "mcpName": p.server(), "optionalDependencies": platforms,
		"files": []string{"bin", openCodeModule}, "exports": openCodeExports(), "engines": object{"node": ">=18"}})})
}

func (p *product) npmPackage(name string, more object) object {
	m := object{"name": name, "version": p.Version, "description": p.Says, "license": p.License, "homepage": p.Home,
		"repository": object{"type": "git", "url": "git+" + p.Home + ".git"}, "keywords": p.Keywords}
	maps.Copy(m, more)
	return m
}

// nodeSystem and nodeMachine are Node's names for a system and an architecture of Go.
func nodeSystem(goos string) string {
	if goos == "windows" {
		return "win32"
	}
	return goos
}

func nodeMachine(goarch string) string {
	if goarch == "amd64" {
		return "x64"
	}
	return goarch
}
