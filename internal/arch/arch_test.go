// Package arch has no code: its tests check the packages against the structure in docs/design.md.
package arch

import (
	"encoding/json"
	"io"
	"os/exec"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// floors are the packages from the lowest floor to the highest, in the wings that docs/design.md describes. A package
// imports only packages of lower floors; those of one floor do not know each other.
var floors = []struct {
	why      string
	packages []string
}{
	{"leaves know nothing of mail or of each other", []string{
		"internal/base/jsonx", "internal/base/durable", "internal/base/process", "internal/office/markdown",
		"internal/front/install/jsonc", "internal/base/child", "internal/base/life", "internal/base/confusable",
		"internal/base/wording", "internal/base/pause", "internal/base/minisign",
		"bench/drive",
	}},
	{"what lies in a stranger's reach is written as durably as our own, what is sent out is our JSON, what we " +
		"keep is both", []string{
		"internal/base/confined", "internal/base/webhook", "internal/base/selfsigned", "internal/base/kept",
		"internal/base/versions", "internal/base/natsfiles",
	}},
	{"what a tool is given is JSON, whoever may give it", []string{"internal/office/edits"}},
	{"foreign lines are durable ones, and still know nothing of mail", []string{"internal/base/lines"}},
	{"rules that a repository brings are read with the same care", []string{"internal/base/worktree"}},
	{"the words mean the same everywhere, so they depend on nothing that could change them",
		[]string{"internal/mail"}},
	{"where a release comes from is nothing that a room, a door or the front knows", []string{
		"internal/office/update",
	}},
	{"contracts, pure decisions and files for people are made of words only", []string{
		"internal/policy", "internal/fence", "internal/mail/export", "internal/mail/find", "internal/mail/triage",
		"internal/mail/amq",
		"internal/room/journal",
		"internal/office/dialect",
	}},
	{"the configuration is that of the rules, and an index is one of words", []string{
		"internal/config", "internal/room/search",
	}},
	{"what follows from a journal is the same for every room, machine and clock", []string{"internal/room/fold"}},
	{"what may be done follows from the state and the command", []string{"internal/room/check"}},
	{"mechanisms implement contracts; a room does not know what keeps its journal", []string{
		"internal/room/mailroom", "internal/room/journal/jsonl", "internal/office/dialect/agenties",
		"internal/office/dialect/haak", "internal/office/dialect/superportia", "internal/office/dialect/openalice",
		"internal/office/dialect/claudeteams",
	}},
	{"a stream is kept as a file too", []string{"internal/room/journal/jetstream"}},
	{"what the two ends of a wire share belongs to neither", []string{"internal/wire"}},
	{"who starts and asks the server of a machine knows no room", []string{"internal/wire/ownserver"}},
	{"the server of a machine knows its cluster and no room", []string{"internal/natsd"}},
	{"the pages are made of parts that know no page", []string{
		"internal/office/web/asset", "internal/office/web/session", "internal/office/web/undo",
		"internal/office/web/words",
	}},
	{"a picture has words in it", []string{"internal/office/web/picture"}},
	{"what every page is made of knows no page", []string{"internal/office/web/page"}},
	{"who waits for whom is shown on several pages", []string{"internal/office/web/waits"}},
	{"pages meet in links and not in each other; only the site joins them", []string{
		"internal/office/web/inbox", "internal/office/web/room", "internal/office/web/flow",
	}},
	{"what is claimed is what tools write, and where that is", []string{"internal/office/claims"}},
	{"what happens in a room is found by mail.Service, and knows no protocol", []string{"internal/office/events"}},
	{"who decides to ring knows no door, and what is known of sessions leads to none", []string{
		"internal/office/wake", "internal/office/wake/sessions", "internal/office/appserver", "internal/office/acp",
	}},
	{"doors meet in mail.Service and not in each other; only the daemon joins them", []string{
		"internal/wire/client", "internal/office/httpapi", "internal/office/mcpserver", "internal/office/bridge",
		"internal/office/a2a", "internal/office/github",
		"internal/office/wake/door", "internal/office/wake/remote", "internal/office/notify",
		"internal/office/invite", "internal/office/hook", "internal/office/web",
		"internal/office/web/asset/vendorjs", "internal/office/backup", "internal/front/install",
		"internal/front/hookpipe",
	}},
	{"what clients ask is held for whoever answers, and comes by hooks alone", []string{"internal/office/dialog"}},
	{"but of Codex, whose server has more to say than its hooks", []string{"internal/office/dialog/codexdialogs"}},
	{"the gate knows rooms, and no door; only the daemon asks it", []string{"internal/office/gate"}},
	{"what listens knows where a connection came from, as the gate has it, and not what it is for", []string{
		"internal/office/listen",
	}},
	{"by which doors agents are reached is known without their rooms, and a relay has none", []string{
		"internal/office/reach", "internal/office/relay",
	}},
	{"what is kept for rooms that are away knows no room, and no way there", []string{"internal/office/outbox"}},
	{"rooms are opened and looked after without knowing who enters them", []string{"internal/office/rooms"}},
	{"callers see rooms as the gate says that they may, however they came", []string{"internal/office/caller"}},
	{"the daemon wires rooms and doors together", []string{"internal/office/daemon", "internal/office/demoday"}},
	{"the command line is a door to the daemon", []string{"internal/front/cli"}},
	{"a group of verbs knows the command line, and no other group", []string{
		"internal/front/cli/room", "internal/front/cli/office", "internal/front/cli/machines",
		"internal/front/cli/setup", "internal/front/cli/data",
	}},
	{"one place names all groups", []string{"internal/front/verbs"}},
	{"the full-screen view is the command line for a person who stays", []string{"internal/office/tui"}},
	{"the whole program adds to the front what is the office's", []string{"internal/office/command"}},
	{"main has no logic", []string{".", "cmd/pennypost", "cmd/pennypost-nats"}},
	{"who measures depends on what is measured, and nothing on it", []string{
		"bench", "bench/streams", "bench/machines", "bench/rooms", "bench/scale", "scripts/manifests",
		"scripts/statements", "scripts/sign", "scripts/mutations", "scripts/typecheck",
	}},
}

// wings are imports that a wing must not have, whatever the floors allow.
var wings = []struct{ from, never, why string }{
	{"internal/front", "internal/office", "the front starts in milliseconds, because it has none of the office in it"},
	{"internal/front", "internal/room", "the front sees rooms over the wire only"},
	{"internal/wire", "internal/office", "what both ends know is neither's"},
	{"internal/wire", "internal/front", "what both ends know is neither's"},
	{"internal/room", "internal/office", "a room does not know by which doors it is reached"},
	{"internal/room", "internal/wire", "a room does not know by which doors it is reached"},
	{"internal/office/web", "internal/office/gate", "a door does not say who its callers are"},
	{"internal/office/httpapi", "internal/office/gate", "a door does not say who its callers are"},
	{"internal/office/mcpserver", "internal/office/gate", "a door does not say who its callers are"},
	{"internal/office/a2a", "internal/office/gate", "a door does not say who its callers are"},
	{"internal/office/dialect", "internal/office/gate", "a door does not say who its callers are"},
	{"internal/natsd", "internal/office", "the server outlives the post office, and knows nothing of it"},
	{"internal/natsd", "internal/room", "the server knows streams, and not what rooms keep in them"},
	{"internal/natsd", "internal/front", "the server has no commands"},
	{"internal/base", "internal/mail", "what is useful anywhere knows nothing of mail"},
}

// suites are packages of tests. They may import the packages they test; only tests, and programs that measure, import
// them.
var suites = []string{"internal/office/dialect/superportia/contracttest", "internal/office/dialect/dialecttest",
	"internal/mail/mailtest", "internal/fence/fencetest", "internal/office/hook/hooktest",
	"internal/office/notify/telegramtest", "internal/office/wake/codextest", "internal/office/acp/acptest",
	"internal/room/journal/journaltest", "internal/room/journal/jetstream/natstest",
	"internal/room/search/searchtest", "internal/room/fold/foldtest", "internal/arch", "internal/proof",
	"internal/proof/load",
	"internal/systemtest", "internal/acceptance", "internal/clocktest", "internal/suspendtest",
	"internal/office/web/webtest", "internal/office/web/sitetest",
	"internal/office/web/pagetest",
	"internal/realclient", "internal/realclient/model",
	"internal/persontest", "internal/persontest/seat"}

// forbidden are edges that the floors would allow.
var forbidden = []struct{ from, to, why string }{
	{"internal/office/httpapi", "internal/room/mailroom",
		"a door knows mail.Service, not who implements it: a client behind a door must work too"},
	{"internal/office/mcpserver", "internal/room/mailroom",
		"a door knows mail.Service, not who implements it: over stdio it is a client"},
	{"internal/office/httpapi", "internal/room/journal",
		"a door that reads the journal would show what the room has not applied"},
	{"internal/office/web/page", "internal/room/mailroom", "a door knows mail.Service, not who implements it"},
	{"internal/office/web", "internal/room/mailroom", "a door knows mail.Service, not who implements it"},
	{"internal/office/a2a", "internal/room", "a door knows mail.Service, not who implements it"},
	{"internal/office/mcpserver", "internal/room/journal",
		"a door that reads the journal would show what the room has not applied"},
	{"internal/room/mailroom", "internal/room/journal/jsonl", "the room works on any journal"},
	{"internal/office/bridge", "internal/room/mailroom", "a bridge needs three things of a room, and says which"},
	{"internal/office/wake", "internal/room/mailroom", "who rings needs five things of a room, and says which"},
}

// module is the path of the module, which scripts/rename-module may have changed.
var module = strings.TrimSuffix(reflect.TypeFor[pkg]().PkgPath(), "/internal/arch")

type pkg struct {
	ImportPath string
	Imports    []string
	Standard   bool
}

func list(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", module+"/...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// local returns the path inside the module, and whether p is in it.
func local(p string) (string, bool) {
	if p == module {
		return ".", true
	}
	return strings.CutPrefix(p, module+"/")
}

func floorOf(p string) int {
	for i, f := range floors {
		if slices.Contains(f.packages, p) {
			return i
		}
	}
	return -1
}

func TestImportDirection(t *testing.T) {
	for _, p := range list(t) {
		from, _ := local(p.ImportPath)
		if slices.Contains(suites, from) {
			continue
		}
		floor := floorOf(from)
		if floor < 0 {
			t.Errorf("%s stands on no floor: give it one in internal/arch", from)
			continue
		}
		for _, imported := range p.Imports {
			to, ours := local(imported)
			if ours && slices.Contains(suites, to) {
				if strings.HasPrefix(from, "bench") {
					continue
				}
				t.Errorf("%s imports the suite %s outside of tests", from, to)
			} else if ours && floorOf(to) >= floor {
				t.Errorf("%s must not import %s: %s", from, to, floors[floor].why)
			}
			for _, w := range wings {
				if strings.HasPrefix(from+"/", w.from+"/") && strings.HasPrefix(to+"/", w.never+"/") {
					t.Errorf("%s must not import %s: %s", from, to, w.why)
				}
			}
			for _, f := range forbidden {
				if f.from == from && f.to == to {
					t.Errorf("%s must not import %s: %s", from, to, f.why)
				}
			}
		}
	}
}

// TestFrontIsLight: the program that agents' clients start a thousand times a day does not contain a post office.
func TestFrontIsLight(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "pennypost/cmd/pennypost").Output()
	if err != nil {
		t.Fatalf("go list -deps: %v", err)
	}
	for p := range strings.FieldsSeq(string(out)) {
		for _, heavy := range []string{
			"pennypost/internal/office", "pennypost/internal/room", "github.com/modelcontextprotocol", "html/template",
			"github.com/coder",
			"mvdan.cc/sh", "pennypost/internal/base/minisign", "github.com/nats-io",
		} {
			if strings.HasPrefix(p, heavy) {
				t.Errorf("the front links %s", p)
			}
		}
	}
}

// TestProofIsNotLinked: the program contains neither the harmful test instruments nor their dependencies.
func TestProofIsNotLinked(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", module).Output()
	if err != nil {
		t.Fatalf("go list -deps: %v", err)
	}
	for p := range strings.FieldsSeq(string(out)) {
		if name, ours := local(p); ours && slices.Contains(suites, name) || strings.Contains(p, "porcupine") {
			t.Errorf("the program links %s", p)
		}
	}
}

// TestServerIsApart: only one program contains the NATS server.
func TestServerIsApart(t *testing.T) {
	for program, has := range map[string]bool{".": false, "cmd/pennypost": false, "cmd/pennypost-nats": true} {
		out, err := exec.Command("go", "list", "-deps", module+"/"+program).Output()
		if err != nil {
			t.Fatalf("go list -deps: %v", err)
		}
		if strings.Contains(string(out), "github.com/nats-io/nats-server") != has {
			t.Errorf("%s links the NATS server: %v", program, !has)
		}
	}
}

// TestAcceptanceIsOutside: the programs of the checklists know the program as its user does.
func TestAcceptanceIsOutside(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", "{{join .TestImports \"\\n\"}}",
		module+"/internal/acceptance").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for p := range strings.FieldsSeq(string(out)) {
		if name, ours := local(p); ours && !slices.Contains(suites, name) {
			t.Errorf("internal/acceptance imports %s: what is not on the outside is not what a user sees", name)
		}
	}
}

// TestMailIsStandard: the vocabulary imports only the standard library, so its importers pay for nothing else.
func TestMailIsStandard(t *testing.T) {
	for _, p := range list(t) {
		if name, _ := local(p.ImportPath); name != "internal/mail" && name != "internal/policy" {
			continue
		}
		for _, imported := range p.Imports {
			if strings.Contains(strings.Split(imported, "/")[0], ".") {
				t.Errorf("%s imports %s", p.ImportPath, imported)
			}
		}
	}
}

// direct are the modules that the program or its tests import, each justified in docs/design.md.
var direct = []string{
	"rsc.io/qr",
	"github.com/VictoriaMetrics/metrics",
	"github.com/a2aproject/a2a-go/v2",
	"github.com/anishathalye/porcupine",
	"github.com/chromedp/cdproto",
	"github.com/chromedp/chromedp",
	"github.com/clipperhouse/displaywidth",
	"github.com/coder/acp-go-sdk",
	"github.com/fsnotify/fsnotify",
	"github.com/gdamore/tcell/v3",
	"github.com/go-json-experiment/json",
	"github.com/gofrs/flock",
	"github.com/google/go-cmp",
	"github.com/google/jsonschema-go",
	"github.com/modelcontextprotocol/go-sdk",
	"github.com/nats-io/nats-server/v2",
	"github.com/nats-io/nats.go",
	"github.com/pelletier/go-toml/v2",
	"github.com/rogpeppe/go-internal",
	"github.com/spf13/cobra",
	"github.com/spf13/pflag",
	"github.com/tailscale/hujson",
	"github.com/yuin/goldmark",
	"go.uber.org/goleak",
	"golang.org/x/sys",
	"golang.org/x/term",
	"golang.org/x/text",
	"golang.org/x/tools",
	"mvdan.cc/sh/v3",
	"pgregory.net/rapid",
}

func TestDirectDependencies(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{if not (or .Indirect .Main)}}{{.Path}}{{end}}",
		"all").Output()
	if err != nil {
		t.Fatalf("go list -m: %v", err)
	}
	for m := range strings.FieldsSeq(string(out)) {
		if !slices.Contains(direct, m) {
			t.Errorf("the module %s is not in the list of %s: add it, with a line in docs/design.md that justifies it",
				m, path.Join("internal", "arch"))
		}
	}
}
