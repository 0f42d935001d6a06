//go:build unix

package inbox_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/sitetest"
)

// TestHostileDocumentPaths names documents with every kind of path that could leave the workspace, block the page or
// inject headers, and replaces the workspace itself. None of them may be read or waited for.
func TestHostileDocumentPaths(t *testing.T) {
	odd := "q\"; x=\r\nSet-Cookie: a=b\u202e.txt"
	long := strings.Repeat("x", 255)
	fine := map[string]string{"a.txt": "plain", odd: "odd", long: "long", "d/.hidden": "hidden", "%2e%2e": "percent"}
	hostile := []string{"..", ".", " ", "d/..", "../secret", "d/../../secret", `..\secret`, `d\..\..\secret`,
		"./../secret", "/proc/self/environ", "//etc/passwd", `C:\secret`, "link", "up/secret", "etc/passwd", "loop",
		"pipe", "zero", "d", "a.txt/x", "absent", long + "x", strings.Repeat("d/", 900) + "x", "secret\n",
		"％2e％2e/secret"}
	var names []string
	for name := range fine {
		names = append(names, name)
	}
	b, id := workspaceFixture(t, fine, append(slices.Clone(names), hostile...)...)
	list, err := b.As(mail.User).Workspaces(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	root := list[0].Dir
	at := func(name string) string { return filepath.Join(root, name) }
	for _, err := range []error{os.Symlink("..", at("up")), os.Symlink("/etc", at("etc")),
		os.Symlink("loop", at("loop")), os.Symlink("/dev/zero", at("zero")), syscall.Mkfifo(at("pipe"), 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	get := func(path string) sitetest.Answer {
		t.Helper()
		done := make(chan sitetest.Answer, 1)
		go func() { done <- b.Get(path) }()
		select {
		case r := <-done:
			return r
		case <-time.After(20 * time.Second):
			t.Fatalf("%s waits", path)
		}
		panic("unreachable")
	}
	doc := func(n int) string { return "/@shop/doc?m=" + string(id) + "&n=" + strconv.Itoa(n) }
	get("/@shop/?m="+string(id)).Want(t, 200, "plain").Without(t, "secret of", "root:")
	for n, name := range append(slices.Clone(names), hostile...) {
		for _, as := range []string{"", "&as=file"} {
			got := get(doc(n) + as)
			if n >= len(names) {
				got.Want(t, 404).Without(t, "secret of", "root:")
				continue
			}
			if got.Want(t, 200); got.Body != fine[name] || got.Header.Get("Set-Cookie") != "" ||
				!strings.HasPrefix(got.Header.Get("Content-Disposition"), "attachment") {
				t.Errorf("%q is served as %v, %q", name, got.Header, got.Body)
			}
		}
	}
	for _, n := range []string{"-1", "99999999999999999999", "1e1", "0x0", "%00"} {
		get("/@shop/doc?m="+string(id)+"&n="+n).Want(t, 404)
	}
	aside := root + ".aside"
	if err := os.Rename(root, aside); err != nil {
		t.Fatal(err)
	}
	for name, put := range map[string]func() error{
		"nothing": func() error { return nil },
		"a pipe":  func() error { return syscall.Mkfifo(root, 0o600) },
		"a file":  func() error { return os.WriteFile(root, []byte("secret of"), 0o600) },
		"a loop":  func() error { return os.Symlink(root, root) },
	} {
		if err := put(); err != nil {
			t.Fatal(name, err)
		}
		get("/@shop/?m="+string(id)).Want(t, 200, "The workspace&#39;s directory does not exist").Without(t,
			"secret of")
		get(doc(0)).Want(t, 404)
		_ = os.Remove(root)
	}
}
