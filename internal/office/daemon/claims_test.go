package daemon

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// TestP15_Interleaved makes calls of all clients' tools in one tree, in any order: a second write is refused if the
// room says so, and otherwise continues and is reported; a read is never refused.
func TestP15_Interleaved(t *testing.T) {
	for _, rule := range []policy.ClaimRule{policy.ClaimsRefuse, policy.ClaimsWarn} {
		t.Run(string(rule), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { interleaved(t, rule, rand.New(rand.NewPCG(1, 2))) })
		})
	}
}

func interleaved(t *testing.T, rule policy.ClaimRule, random *rand.Rand) {
	home := homeDir(t)
	dir := repository(t, filepath.Join(home, "shop"))
	dirs := map[string]string{}
	for _, c := range []string{"claude", "codex", "gemini", "qwen", "opencode", "pi", "copilot"} {
		dirs[c] = dir
	}
	f := newField(t, rule, home, dirs)
	held := map[string]*claimer{}
	told := map[mail.Name]map[string]bool{}
	clashes, clients := 0, map[string]int{}
	for i := range *claimSteps {
		a, path := f.agents[random.IntN(len(f.agents))], fmt.Sprint("src/f", random.IntN(12), ".go")
		f.beat(time.Duration(random.IntN(20)) * time.Second)
		for p, h := range held {
			if !h.works && time.Since(h.ended) >= policy.DefaultQuiet {
				delete(held, p)
			}
		}
		n := random.IntN(20)
		if n == 0 && a.works {
			a.end()
			continue
		}
		if !a.works {
			a.begin()
		}
		if n < 4 {
			if refused := a.reads(random, path); refused != "" {
				t.Fatalf("step %d: %s reads %s: %s", i, a.name, path, refused)
			}
			continue
		}
		holder := held[path]
		clashed := holder != nil && holder != a
		how, refused := a.writes(random, path)
		if (refused != "") != (clashed && rule == policy.ClaimsRefuse) {
			t.Fatalf("step %d: %s writes %s by %s, which %s holds: %q", i, a.name, path, how, nameOf(holder), refused)
		}
		if !clashed {
			held[path] = a
			continue
		}
		clashes++
		clash(told, rule, a.name, holder.name, path)
		clients[string(a.name)]++
		if says := path + ": held by " + string(holder.name) + " since "; refused != "" &&
			!strings.Contains(refused, says) {
			t.Fatalf("step %d: %s is told %q, and not %q", i, a.name, refused, says)
		}
	}
	t.Logf("%s: %d of %d steps clashed: %v", rule, clashes, *claimSteps, clients)
	for name, subjects := range told {
		if missing := f.missing(name, subjects); len(missing) > 0 {
			t.Errorf("%s was not told %q", name, missing)
		}
	}
}

func nameOf(a *claimer) mail.Name {
	if a == nil {
		return "nobody"
	}
	return a.name
}

// clash notes the expected reports of a write that clashed.
func clash(told map[mail.Name]map[string]bool, rule policy.ClaimRule, writer, holder mail.Name, path string) {
	for _, name := range []mail.Name{writer, holder} {
		if told[name] == nil {
			told[name] = map[string]bool{}
		}
	}
	if rule == policy.ClaimsRefuse {
		told[holder][fmt.Sprintf("%s waits for %s, which you hold", writer, path)] = true
		return
	}
	told[holder][fmt.Sprintf("%s writes %s, which you hold", writer, path)] = true
	told[writer][fmt.Sprintf("%s holds %s, which you write", holder, path)] = true
}

// missing returns the subjects that an agent's mail lacks.
func (f *field) missing(name mail.Name, subjects map[string]bool) []string {
	f.Helper()
	missing := maps.Clone(subjects)
	q := mail.InboxQuery{All: true, Limit: 1000}
	for {
		page, err := f.office.Own(f.Context(), "shop", name).Inbox(f.Context(), q)
		must(f.T, err)
		for i := range page.Messages {
			delete(missing, page.Messages[i].Subject)
		}
		if q.After = page.Next; !page.More {
			return slices.Sorted(maps.Keys(missing))
		}
	}
}

// reads makes the agent read a file.
func (a *claimer) reads(random *rand.Rand, path string) (refused string) {
	tools := a.files(true)
	commands := []string{"grep x " + path + " > /dev/null 2>&1", "cat < " + path, "git diff -- " + path,
		"sed -n 1,9p " + path, "git log -p " + path + " | head"}
	if n := random.IntN(len(tools) + len(commands)); n < len(tools) {
		return a.tool(tools[n], filepath.Join(a.scene.Dir, path))
	} else {
		return a.shell(commands[n-len(tools)])
	}
}

// writes makes the agent write a file with one of its tools, or with a command that names the file.
func (a *claimer) writes(random *rand.Rand, path string) (how, refused string) {
	whole := filepath.Join(a.scene.Dir, path)
	tools := a.files(false)
	if n := random.IntN(2 * len(tools)); n < len(tools) {
		return tools[n].Name, a.tool(tools[n], whole)
	}
	spelled := []string{path, whole, "./src/../" + path}[random.IntN(3)]
	if rel, err := filepath.Rel(a.home, whole); err == nil && random.IntN(4) == 0 {
		spelled = "~/" + rel
	}
	how = fmt.Sprintf([]string{"echo x >> %s", "printf x | tee %s > /dev/null", "sed -i s/x/y/ %s",
		"cat > %s <<'EOF'\nx\nEOF", "cp README.md %s", "go run ./gen | tee -a %s", "cd . && rm -f %s",
		"git checkout -- %s", "git restore %s", "true && (x=1; python3 gen.py > %s)",
		"bash -c 'echo x > %s'"}[random.IntN(11)], spelled)
	return how, a.shell(how)
}
