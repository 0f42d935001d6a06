package webtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/chromedp/chromedp"

	// builds into the binary, so cached results are not reused for another build
	_ "pennypost/internal/front/cli"
	"pennypost/internal/persontest"
)

// binary is the program under test, typed the proxy that runs it in a person's terminal, browser the context of the
// browser, and shared the post office of tests that need none of their own. TestMain sets them once.
var (
	binary  string
	typed   string
	browser context.Context
	shared  *office
)

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	if runtime.GOOS == "windows" {
		fmt.Println("these tests need signals and pipes with names")
		return 0
	}
	path := chromium()
	if path == "" {
		if os.Getenv("CI") != "" && runtime.GOOS == "linux" {
			fmt.Fprintln(os.Stderr, "there is no chromium; ./test installs it")
			return 1
		}
		fmt.Println("skipped: there is no chromium")
		return 0
	}
	dir, err := os.MkdirTemp("", "pennypost-web")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "pennypost")
	if out, err := exec.Command("go", "build", "-o", binary, "../../../..").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	seat, err := persontest.Open()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer seat.Close()
	if typed, err = seat.Program(binary); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if shared, err = open(dir, serve...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer shared.close()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.Flag("lang", "en-GB"))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox) // chromium refuses to run as root otherwise
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	ctx, cancel := chromedp.NewContext(allocator)
	defer cancel()
	if err := chromedp.Do(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "chromium does not start:", err)
		return 1
	}
	browser = ctx
	return m.Run()
}

// chromium returns the program. The one without windows takes half the processor time.
func chromium() string {
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}
