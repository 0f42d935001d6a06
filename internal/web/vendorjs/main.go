// Vendorjs fetches what the pages use of others' JavaScript and puts it under static/vendor: pinned versions, and every file checked
// against its hash. It runs in internal/web, by go generate, and needs npm.
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

// packages are what is fetched. A hash is the SHA-256 of the file.
var packages = []struct {
	name  string
	files map[string]string // path in the package: hash
}{
	{"htmx.org@4.0.1", map[string]string{
		"dist/htmx.min.js":       "a0abb04f2f45a1f89d1d4844023245537e5e6014c87b144553e0607b4cc32130",
		"dist/ext/hx-sse.min.js": "18ef2761356ec1fe0bb6d92612315b37517a7c1e9856b661c5ae81fef239d103",
		"dist/ext/hx-csp.min.js": "a7e1e6711ae6c3e50ad300fba7936cbe8d07599cdae313414a179ddd6b26e143",
		"LICENSE":                "d3d2456f76414f2456104660ebd65aff1c04cd7966b942bdabd63f3cdb316a38",
	}},
	{"@highlightjs/cdn-assets@11.12.0", map[string]string{
		"highlight.min.js": "8ab71eb09c51f501e5e25157d9cff100e46cc29bcbfc744d0b746d451fca7f53",
		"LICENSE":          "6c081431591d9df696c82dc598fe1423765b8a299b200ed00b281afd0f64c490",
	}},
}

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

// fetch has npm download a package and keeps the files that are wanted of it.
func fetch(tmp, name string, files map[string]string) error {
	cmd := exec.Command("npm", "pack", "--silent", "--pack-destination", tmp, name)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("npm pack: %w", err)
	}
	file, err := os.Open(filepath.Join(tmp, filepath.Base(strings.TrimSpace(string(out)))))
	if err != nil {
		return err
	}
	defer file.Close()
	zipped, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	found := 0
	for r := tar.NewReader(zipped); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		path := strings.TrimPrefix(h.Name, "package/")
		want, wanted := files[path]
		if !wanted {
			continue
		}
		found++
		if err := keep(r, name, path, want); err != nil {
			return err
		}
	}
	if found != len(files) {
		return fmt.Errorf("%d of %d files found", found, len(files))
	}
	return nil
}

// keep writes a file to the target if its hash is the one that was pinned.
func keep(r io.Reader, name, path, want string) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	if got := hex.EncodeToString(sum[:]); got != want {
		return fmt.Errorf("%s has the hash %s, not %s", path, got, want)
	}
	to := filepath.Base(path)
	if to == "LICENSE" {
		to = strings.NewReplacer("@", "", "/", "-").Replace(name[:strings.LastIndex(name, "@")]) + ".LICENSE"
	}
	// A browser would look for the map, which is not there.
	if i := bytes.LastIndex(text, []byte("\n//# sourceMappingURL=")); i >= 0 {
		text = text[:i+1]
	}
	return os.WriteFile(filepath.Join(target, to), text, 0o644)
}
