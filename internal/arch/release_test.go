package arch

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

var releases = flag.Bool("releases", false, "make releases, which takes minutes")

// TestReleaseTwice makes a release of one system twice, from a copy of the sources, and compares the bytes.
func TestReleaseTwice(t *testing.T) {
	if !*releases || runtime.GOOS != "linux" {
		t.Skip("builds all programs twice, with the tools of a Linux: ./test release")
	}
	for _, tool := range []string{"git", "zip", "dpkg-deb"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("scripts/release needs %s, which is not here", tool)
		}
	}
	dir := copySources(t)
	release := func(args ...string) (string, error) {
		return run(dir, "bash", append([]string{filepath.Join("scripts", "release")}, args...)...)
	}
	for _, version := range []string{"", "1.2.3", "v1.2", "../v1.2.3"} {
		if out, err := release(version); err == nil || !strings.Contains(out, "usage") {
			t.Errorf("release %q says %q and ends with %v", version, out, err)
		}
	}
	if out, err := release("v1.2.3-rc1"); err == nil || !strings.Contains(out, "the file VERSION") {
		t.Errorf("of another version it says %q and ends with %v", out, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "VERSION"), []byte("1.2.3-rc1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	public, secret := newKey(t, dir)
	t.Setenv("PENNYPOST_RELEASE_KEY", secret)
	target := runtime.GOOS + "/" + runtime.GOARCH
	must(t, dir, "git", "commit", "-qam", "1.2.3-rc1")
	if out, err := release("v1.2.3-rc1", target); err == nil || !strings.Contains(out, "do not know this key") {
		t.Errorf("with a key that nobody knows it says %q and ends with %v", out, err)
	}
	if left, err := os.ReadDir(filepath.Join(dir, "dist")); err != nil || len(left) > 0 {
		t.Errorf("and leaves %v, %v", left, err)
	}
	key := filepath.Join(dir, "internal", "office", "update", "key.go")
	source, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	source = bytes.Replace(source, []byte("\nvar releaseKey string\n"),
		[]byte("\nvar releaseKey = \""+public+"\"\n"), 1)
	if err := os.WriteFile(key, source, 0o600); err != nil {
		t.Fatal(err)
	}
	must(t, dir, "git", "commit", "-qam", "a key")
	sums := make([]string, 2)
	for i := range sums {
		if out, err := release("v1.2.3-rc1", target); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		text, err := os.ReadFile(filepath.Join(dir, "dist", "v1.2.3-rc1", "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		signature, err := os.ReadFile(filepath.Join(dir, "dist", "v1.2.3-rc1", "SHA256SUMS.minisig"))
		if err != nil {
			t.Fatal(err)
		}
		sums[i] = string(text) + string(signature)
		// Uncommitted changes are not part of a release.
		if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte("package broken"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if sums[0] != sums[1] {
		t.Errorf("two releases of one commit differ:\n%s\n%s", sums[0], sums[1])
	}
	checkDist(t, filepath.Join(dir, "dist", "v1.2.3-rc1"), runtime.GOARCH)
}

// newKey makes a release key.
func newKey(t *testing.T, dir string) (public, secret string) {
	t.Helper()
	words := strings.Fields(must(t, dir, "go", "run", "./scripts/sign", "new"))
	if len(words) != 4 || words[0] != "public" || words[2] != "secret" {
		t.Fatalf("scripts/sign says %q", words)
	}
	return words[1], words[3]
}

// checkDist checks the contents of a release.
func checkDist(t *testing.T, dist, arch string) {
	must(t, dist, "sha256sum", "--check", "--strict", "SHA256SUMS")
	name := "pennypost_1.2.3-rc1_linux_" + arch
	must(t, dist, "tar", "-xzf", name+".tar.gz")
	for _, file := range []string{"README.md", "LICENSE", "NOTICES", "pennypost", "pennypostd", "pennypost-nats"} {
		if info, err := os.Stat(filepath.Join(dist, name, file)); err != nil || info.Size() == 0 {
			t.Errorf("the archive lacks %s: %v", file, err)
		}
	}
	for _, program := range []string{"pennypost", "pennypostd", "pennypost-nats"} {
		if out := must(t, filepath.Join(dist, name), "./"+program, "--version"); !strings.Contains(out,
			" v1.2.3-rc1 ") {
			t.Errorf("%s says that it is %s", program, out)
		}
	}
	contents := must(t, dist, "dpkg-deb", "--contents", "pennypost_1.2.3-rc1_"+arch+".deb")
	for _, file := range []string{"/usr/bin/pennypost\n", "/usr/bin/pennypostd\n", "/usr/bin/pennypost-nats\n",
		"/usr/lib/systemd/user/pennypost.service\n",
		"/usr/share/man/man1/pennypost.1.gz\n", "/usr/share/doc/pennypost/NOTICES\n"} {
		if !strings.Contains(contents, file) {
			t.Errorf("the package lacks %s:\n%s", strings.TrimSpace(file), contents)
		}
	}
	out := must(t, filepath.Join(dist, name), "./pennypostd", "update", "--check", "--from", dist)
	if !strings.Contains(out, "This is v1.2.3-rc1") {
		t.Errorf("update --check says %q", out)
	}
	checkLinked(t, filepath.Join(dist, name))
	checkNPM(t, dist)
}

// checkNPM installs the npm packages, without a registry, and starts the program through them.
func checkNPM(t *testing.T, dist string) {
	if _, err := exec.LookPath("npm"); err != nil {
		t.Log("npm is not here: its packages are not tried")
		return
	}
	packages, err := filepath.Glob(filepath.Join(dist, "npm-*.tgz"))
	if err != nil || len(packages) != 2 {
		t.Fatalf("there are the npm packages %q, %v", packages, err)
	}
	home := t.TempDir()
	args := append([]string{"install", "--offline", "--no-audit", "--no-fund", "--omit=optional", "--prefix", home},
		packages...)
	must(t, home, "npm", args...)
	out := must(t, home, filepath.Join(home, "node_modules", ".bin", "pennypost"), "--version")
	if !strings.Contains(out, " v1.2.3-rc1 ") {
		t.Errorf("pennypost of npm says that it is %s", out)
	}
}

// checkLinked compares the SBOM and the notices with the linked modules.
func checkLinked(t *testing.T, files string) {
	var sbom struct {
		BOMFormat  string `json:"bomFormat"`
		Components []struct{ Name, Version, Purl string }
	}
	text, err := os.ReadFile(files + ".cdx.json")
	if err == nil {
		err = json.Unmarshal(text, &sbom)
	}
	if err != nil || sbom.BOMFormat != "CycloneDX" {
		t.Fatalf("the SBOM is of format %q: %v", sbom.BOMFormat, err)
	}
	notices, err := os.ReadFile(filepath.Join(files, "NOTICES"))
	if err != nil {
		t.Fatal(err)
	}
	var linked []string
	for _, c := range sbom.Components {
		linked = append(linked, c.Name)
		if c.Name != "std" && !strings.Contains(string(notices), "\n==== "+c.Name+": ") {
			t.Errorf("the notices lack the licence of %s", c.Name)
		}
	}
	for _, name := range []string{"std", "github.com/spf13/cobra", "golang.org/x/text"} {
		if !slices.Contains(linked, name) {
			t.Errorf("the SBOM lacks %s: %v", name, linked)
		}
	}
}
