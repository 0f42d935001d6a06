package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// unpinned are the images whose digest could not be looked up when this was written, for lack of the registry:
// scripts/pin-images does. An image that has its digest leaves the list, and keeps the digest from then on.
var unpinned = []string{"golang:1.26.8-bookworm"}

// The forms of things that others publish under a movable name: next to the name there must be one that cannot move.
var (
	usesAction = regexp.MustCompile(`(?m)^\s*-?\s*uses:\s*(.*)$`)
	usesImage  = regexp.MustCompile(`(?m)^\s*(?:FROM|container:|image:)\s+(\S+)`)
	pinnedTo   = regexp.MustCompile(`^[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	digested   = regexp.MustCompile(`^([\w./-]+:[\w.-]+)@sha256:[0-9a-f]{64}$`)
)

// TestPinned: everything that builds and tests Pennypost is named by its content: actions by their commit, with the
// version after it, and images by their digest.
func TestPinned(t *testing.T) {
	workflows, err := filepath.Glob("../../.github/workflows/*")
	if err != nil || len(workflows) == 0 {
		t.Fatal(err, workflows)
	}
	bare := make(map[string]bool)
	for _, file := range append(workflows, "../../Dockerfile") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range usesAction.FindAllStringSubmatch(string(text), -1) {
			if !pinnedTo.MatchString(m[1]) {
				t.Errorf("%s uses %s, want OWNER/NAME@COMMIT # vVERSION", file, m[1])
			}
		}
		for _, m := range usesImage.FindAllStringSubmatch(string(text), -1) {
			switch {
			case m[1] == "scratch" || digested.MatchString(m[1]):
			case slices.Contains(unpinned, m[1]):
				bare[m[1]] = true
			default:
				t.Errorf("%s uses the image %s without its digest: scripts/pin-images writes it there", file, m[1])
			}
		}
	}
	for _, image := range unpinned {
		if !bare[image] {
			t.Errorf("%s has its digest, or is not used any more: take it off the list", image)
		}
	}
}

// TestPinImages runs scripts/pin-images with a registry that answers, and with one that does not.
func TestPinImages(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("a script for the sed of a Linux")
	}
	dir := copySources(t)
	script := filepath.Join(dir, "scripts", "pin-images")
	docker := func(says string) {
		if err := os.WriteFile(filepath.Join(dir, "docker"), []byte("#!/bin/sh\necho "+says+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	docker("not found")
	if out, err := run(dir, "bash", script); err == nil {
		t.Errorf("without an answer it says %s", out)
	}
	must(t, dir, "git", "diff", "--exit-code")
	for _, digest := range []string{strings.Repeat("a", 64), strings.Repeat("b", 64)} {
		docker("sha256:" + digest)
		must(t, dir, "bash", script)
		for _, file := range []string{"Dockerfile", ".github/workflows/test.yml"} {
			text, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				t.Fatal(err)
			}
			images := usesImage.FindAllStringSubmatch(string(text), -1)
			if !strings.HasSuffix(images[0][1], "@sha256:"+digest) || !digested.MatchString(images[0][1]) {
				t.Errorf("%s names %v, want the digest %s", file, images, digest)
			}
		}
	}
}
