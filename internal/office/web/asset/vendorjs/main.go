// Vendorjs fetches third-party JavaScript into static/vendor at pinned versions, and checks each file's hash. It runs
// in internal/office/web, by go generate, and needs npm.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// packages lists the files to fetch with their SHA-256 hashes. Files with the same target are concatenated: htmx
// processes the page as soon as it runs, so an extension that loads later is too late.
var packages = []struct {
	name  string
	files []file
}{
	{"htmx.org@4.0.1", []file{
		{"dist/htmx.min.js", "htmx.min.js", "a0abb04f2f45a1f89d1d4844023245537e5e6014c87b144553e0607b4cc32130"},
		{"dist/ext/hx-sse.min.js", "htmx.min.js", "18ef2761356ec1fe0bb6d92612315b37517a7c1e9856b661c5ae81fef239d103"},
		{"dist/ext/hx-csp.min.js", "htmx.min.js", "a7e1e6711ae6c3e50ad300fba7936cbe8d07599cdae313414a179ddd6b26e143"},
		{"LICENSE", "htmx.org.LICENSE", "d3d2456f76414f2456104660ebd65aff1c04cd7966b942bdabd63f3cdb316a38"},
	}},
	{"@highlightjs/cdn-assets@11.12.0", []file{
		{"highlight.min.js", "highlight.min.js", "8ab71eb09c51f501e5e25157d9cff100e46cc29bcbfc744d0b746d451fca7f53"},
		{"LICENSE", "highlightjs-cdn-assets.LICENSE",
			"6c081431591d9df696c82dc598fe1423765b8a299b200ed00b281afd0f64c490"},
	}},
}

type file struct{ path, target, hash string }

const target = "static/vendor"

func main() {
	log.SetFlags(0)
	if err := run(); err != nil {
		log.Fatal("vendorjs: ", err)
	}
}

func run() error {
	tmp, err := os.MkdirTemp("", "vendorjs")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := os.MkdirAll(target, 0o755); err != nil {
		return err
	}
	for _, p := range packages {
		if err := fetch(tmp, p.name, p.files); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

// fetch downloads a package with npm and keeps the listed files.
func fetch(tmp, name string, files []file) error {
	cmd := exec.Command("npm", "pack", "--silent", "--pack-destination", tmp, name)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("npm pack: %w", err)
	}
	packed, err := unpack(filepath.Join(tmp, filepath.Base(strings.TrimSpace(string(out)))))
	if err != nil {
		return err
	}
	targets := make(map[string][]byte)
	for _, f := range files {
		text, ok := packed[f.path]
		if !ok {
			return fmt.Errorf("there is no file %s", f.path)
		}
		sum := sha256.Sum256(text)
		if got := hex.EncodeToString(sum[:]); got != f.hash {
			return fmt.Errorf("%s has the hash %s, not %s", f.path, got, f.hash)
		}
		// The source map that a browser would look for is not there.
		if i := bytes.LastIndex(text, []byte("\n//# sourceMappingURL=")); i >= 0 {
			text = text[:i+1]
		}
		targets[f.target] = append(targets[f.target], text...)
	}
	for to, text := range targets {
		if err := os.WriteFile(filepath.Join(target, to), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// unpack returns the files of a package by path.
func unpack(path string) (map[string][]byte, error) {
	packed, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer packed.Close()
	zipped, err := gzip.NewReader(packed)
	if err != nil {
		return nil, err
	}
	files := make(map[string][]byte)
	for r := tar.NewReader(zipped); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files, nil
		} else if err != nil {
			return nil, err
		}
		if files[strings.TrimPrefix(h.Name, "package/")], err = io.ReadAll(r); err != nil {
			return nil, err
		}
	}
}
