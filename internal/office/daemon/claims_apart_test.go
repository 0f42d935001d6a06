package daemon

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/policy"
)

// TestP15_NoFalseRefusal makes calls that do not clash, in a room that refuses clashes: each agent writes files of
// its own, under any name, moves them and links to them, and writes files that belong to no one; in one tree by
// several paths, and in two worktrees of it. None is refused. In between come calls that do clash, by the same
// paths, and each of those is refused.
func TestP15_NoFalseRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { apart(t, rand.New(rand.NewPCG(3, 4))) })
}

func apart(t *testing.T, random *rand.Rand) {
	home := homeDir(t)
	dir := repository(t, filepath.Join(home, "shop"))
	for _, name := range []string{"tree", "tree2"} {
		gitIn(t, dir, "worktree", "add", "-q", filepath.Join(home, name))
		must(t, os.Symlink(dir, filepath.Join(home, name, "shop")))
	}
	must(t, os.Symlink(dir, filepath.Join(home, "alias")))
	must(t, os.Symlink("src", filepath.Join(dir, "link")))
	must(t, os.Symlink(filepath.Join(home, "tree"), filepath.Join(dir, "other")))
	put(t, filepath.Join(dir, "sub", "README.md"), "x")
	f := newField(t, policy.ClaimsRefuse, home, map[string]string{"claude": dir, "codex": filepath.Join(home, "tree"),
		"gemini": filepath.Join(home, "alias"), "qwen": filepath.Join(home, "tree2"),
		"opencode": filepath.Join(dir, "sub"), "pi": dir, "copilot": dir})
	g := &ground{field: f, random: random, shop: dir, holders: map[string]*claimer{}, done: map[string]int{}}
	clashes := 0
	for i := range *claimSteps {
		f.beat(time.Duration(random.IntN(2)) * time.Second)
		a := f.agents[random.IntN(len(f.agents))]
		if how, refused := g.own(a); refused != "" {
			t.Fatalf("step %d: %s does what is in nobody's way: %s: %s", i, a.name, how, refused)
		}
		if path, holder := g.another(a); path != "" && random.IntN(10) == 0 {
			clashes++
			by := path + ": held by " + string(holder.name) + " since "
			how, refused := g.clash(a, path)
			if strings.Contains(how, "stash") || strings.Contains(how, "reset") || strings.Contains(how, "-rf") {
				by = ": held by " // the first agent that holds a part of it
			}
			if !strings.Contains(refused, by) {
				t.Fatalf("step %d: %s writes %s, which %s holds: %s: %q", i, a.name, path, holder.name, how, refused)
			}
		}
	}
	t.Logf("%d calls that do not clash: %v; and %d that do", *claimSteps, g.done, clashes)
}

// ground is the agents' workspace: a tree under several names, and two worktrees of it.
type ground struct {
	*field
	random  *rand.Rand
	shop    string
	holders map[string]*claimer // by path in the tree
	done    map[string]int
}

// inShop reports whether an agent works in the shared tree.
func (g *ground) inShop(a *claimer) bool {
	return !strings.Contains(filepath.Base(a.scene.Dir), "tree")
}

// top returns the top of the tree where an agent works, as the agent names it.
func (g *ground) top(a *claimer) string {
	if filepath.Base(a.scene.Dir) == "sub" {
		return filepath.Dir(a.scene.Dir)
	}
	return a.scene.Dir
}

// mine returns the path of a file that no one else writes.
func (g *ground) mine(a *claimer) string {
	n := g.random.IntN(4)
	switch g.random.IntN(4) {
	case 0: // differs from all others' in the case of letters only
		name, i := []byte("twin.go"), slices.Index(g.agents, a)+1
		for at := range 4 {
			if i>>at&1 == 1 {
				name[at] -= 'a' - 'A'
			}
		}
		return "src/" + string(name)
	case 1:
		return fmt.Sprint("src/", a.tape.Client.Name, "/", n, ".go")
	case 2:
		return fmt.Sprint("docs/", a.tape.Client.Name, " ", n, "é.md")
	}
	return fmt.Sprint("src/", a.tape.Client.Name, n, ".go")
}

// another returns a file of the tree that another agent holds; "" if there is none.
func (g *ground) another(a *claimer) (string, *claimer) {
	for path, holder := range g.holders {
		if holder != a {
			return path, holder
		}
	}
	return "", nil
}

// named returns a path in an agent's tree as the agent may name it. With links, the name may lead there through one.
func (g *ground) named(a *claimer, path string) string {
	whole := filepath.Join(g.top(a), path)
	names := []string{whole, filepath.Join(a.scene.Dir) + "/../" + filepath.Base(a.scene.Dir) + "/" + path}
	if g.top(a) != a.scene.Dir {
		names = []string{whole, "../" + path, whole}
	} else {
		names = append(names, path, "./"+path)
	}
	if g.inShop(a) {
		names = append(names, filepath.Join(g.home, "alias", path), filepath.Join(g.home, "tree2", "shop", path))
		if rest, ok := strings.CutPrefix(path, "src/"); ok {
			names = append(names, filepath.Join(g.top(a), "link", rest))
		}
	}
	return names[g.random.IntN(len(names))]
}

// did notes that an agent has a file of its tree written, and writes it.
func (g *ground) did(a *claimer, path string) {
	put(g.T, filepath.Join(g.top(a), path), "x\n")
	if g.inShop(a) {
		g.holders[path] = a
	}
}

// own makes an agent do something that clashes with no one.
func (g *ground) own(a *claimer) (how, refused string) {
	acts := []struct {
		name string
		do   func(*claimer) (string, string)
	}{{"writes", g.write}, {"writes", g.write}, {"moves", g.move}, {"patches that move", g.patch},
		{"copies", g.copyOf}, {"links", g.link}, {"ignored, generated, temporary", g.nobodys}, {"reads", g.read},
		{"worktrees", g.elsewhere}, {"directories", g.directory}}
	act := acts[g.random.IntN(len(acts))]
	how, refused = act.do(a)
	g.done[act.name]++
	return how, refused
}

// write writes a file.
func (g *ground) write(a *claimer) (how, refused string) {
	path := g.mine(a)
	tools := a.files(false)
	if n := g.random.IntN(2 * len(tools)); n < len(tools) {
		how = tools[n].Name + " " + path
		refused = a.tool(tools[n], filepath.Join(g.top(a), path))
	} else {
		how = fmt.Sprintf([]string{"echo x >> '%s'", "sed -i s/x/y/ '%s'", "cat gen.txt > '%s'", "tee '%s' < x"}[n%4],
			g.named(a, path))
		refused = a.shell(how)
	}
	if refused == "" {
		g.did(a, path)
	}
	return how, refused
}

// move moves a file of the agent's to a name of its own.
func (g *ground) move(a *claimer) (how, refused string) {
	from, to := g.mine(a), g.mine(a)
	if from == to {
		return g.write(a)
	}
	how = fmt.Sprintf([]string{"mv '%s' '%s'", "git mv -f '%s' '%s'", "mv -f -- '%s' '%s'",
		"cp '%[1]s' '%[2]s' && rm '%[1]s'"}[g.random.IntN(4)], g.named(a, from), g.named(a, to))
	if refused = a.shell(how); refused == "" {
		g.did(a, to)
		_ = os.Remove(filepath.Join(g.top(a), from)) // if it is there
		if g.inShop(a) {
			g.holders[from] = a
		}
	}
	return how, refused
}

// patch applies a patch that moves a file.
func (g *ground) patch(a *claimer) (how, refused string) {
	from, to := g.mine(a), g.mine(a)
	how = "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: " + g.named(a, from) + "\n*** Move to: " +
		g.named(a, to) + "\n@@\n-x\n+y\n*** End Patch\nEOF"
	if refused = a.shell(how); refused == "" {
		g.did(a, to)
		if g.inShop(a) {
			g.holders[from] = a
		}
	}
	return how, refused
}

// copyOf copies a file that another agent holds to one of the agent's own.
func (g *ground) copyOf(a *claimer) (how, refused string) {
	from, to := ".gitignore", g.mine(a)
	if path, _ := g.another(a); path != "" && g.inShop(a) {
		from = path
	}
	how = fmt.Sprintf("cp '%s' '%s'", g.named(a, from), g.named(a, to))
	if refused = a.shell(how); refused == "" {
		g.did(a, to)
	}
	return how, refused
}

// link makes, moves and removes links to a file that another agent holds, which does not change that file.
func (g *ground) link(a *claimer) (how, refused string) {
	to := ".gitignore"
	if path, _ := g.another(a); path != "" && g.inShop(a) {
		to = path
	}
	name := func() string { return fmt.Sprint("links/", a.tape.Client.Name, g.random.IntN(3)) }
	one, two := name(), name()
	whole := func(path string) string { return filepath.Join(g.top(a), path) }
	switch _, err := os.Lstat(whole(one)); {
	case err != nil || g.random.IntN(3) == 0:
		how = fmt.Sprintf("ln -sfn '%s' '%s'", whole(to), g.named(a, one))
		if refused = a.shell(how); refused == "" {
			_ = os.Remove(whole(one))
			must(g.T, os.MkdirAll(whole("links"), 0o755))
			must(g.T, os.Symlink(whole(to), whole(one)))
		}
	case g.random.IntN(2) == 0 && one != two:
		how = fmt.Sprintf("mv -f '%s' '%s'", g.named(a, one), g.named(a, two))
		if refused = a.shell(how); refused == "" {
			must(g.T, os.Rename(whole(one), whole(two)))
		}
	default:
		how = fmt.Sprintf([]string{"rm '%s'", "unlink '%s'", "git rm -f '%s'"}[g.random.IntN(3)], g.named(a, one))
		if refused = a.shell(how); refused == "" {
			must(g.T, os.Remove(whole(one)))
		}
	}
	return how, refused
}

// nobodys writes files that are no one's work: ignored, generated, temporary or Git's own.
func (g *ground) nobodys(a *claimer) (how, refused string) {
	n := g.random.IntN(3)
	path := []string{fmt.Sprint("build/", n, ".o"), fmt.Sprint("build/deep/", n, ".go"), fmt.Sprint(n, ".log"),
		fmt.Sprint("src/", n, ".log"), fmt.Sprint("gen/", n, ".go"), fmt.Sprint("src/", n, ".pb.go"), ".git/index",
		".git/COMMIT_EDITMSG"}[g.random.IntN(8)]
	where := []string{g.named(a, path), fmt.Sprint(os.TempDir(), "/x", n), fmt.Sprint("/tmp/pennypost-nobody/", n),
		"/dev/null", fmt.Sprint("/var/tmp/", n)}[max(g.random.IntN(10)-5, 0)]
	tools := a.files(false)
	if g.random.IntN(2) == 0 && filepath.IsAbs(where) {
		return where, a.tool(tools[g.random.IntN(len(tools))], where)
	}
	how = fmt.Sprintf([]string{"make > '%s' 2>&1", "protoc -I . x.proto | tee '%s'", "sed -i s/x/y/ '%s'",
		"rm -rf '%s'"}[g.random.IntN(4)], where)
	return how, a.shell(how)
}

// read reads a file that another agent holds.
func (g *ground) read(a *claimer) (how, refused string) {
	path, _ := g.another(a)
	if path == "" || !g.inShop(a) {
		path = ".gitignore"
	}
	tools := a.files(true)
	if len(tools) > 0 && g.random.IntN(2) == 0 {
		return path, a.tool(tools[0], filepath.Join(g.top(a), path))
	}
	how = fmt.Sprintf([]string{"cat '%s'", "grep -rn x . '%s' > /dev/null 2>&1", "git diff HEAD -- '%s' | head",
		"git stash list; git log -- '%s'", "test -e '%s' && git status --short", "diff '%s' /dev/null"}[g.random.IntN(
		6)], g.named(a, path))
	return how, a.shell(how)
}

// elsewhere writes, in an agent's own worktree, a file that others hold in the tree under the same path; and files
// of the agent's own in the tree of others, through a link.
func (g *ground) elsewhere(a *claimer) (how, refused string) {
	if g.inShop(a) {
		how = fmt.Sprintf("echo x > '%s'", filepath.Join(g.top(a), "other", g.mine(a)))
		return how, a.shell(how)
	}
	acts := []string{fmt.Sprintf("echo x > 'shop/src/%s-from-afar.go'", a.tape.Client.Name)}
	if filepath.Base(a.scene.Dir) == "tree2" { // no one else writes there
		path, _ := g.another(a)
		acts = append(acts, "git checkout -q -- .", "git stash -q", "git reset -q --hard", "rm -rf src",
			"echo x > '"+filepath.Join(a.scene.Dir, "./"+path)+"'")
	}
	how = acts[g.random.IntN(len(acts))]
	return how, a.shell(how)
}

// directory makes, fills and removes a directory of the agent's own.
func (g *ground) directory(a *claimer) (how, refused string) {
	path := "lib/" + a.tape.Client.Name
	how = fmt.Sprintf([]string{"rm -rf '%s'", "mkdir -p '%[1]s' && cp -r docs/. '%[1]s/'",
		"mv '%[1]s' '%[1]s-old'"}[g.random.IntN(3)], g.named(a, path))
	if refused = a.shell(how); refused == "" && g.random.IntN(2) == 0 {
		put(g.T, filepath.Join(g.top(a), path, "x.go"), "x")
	}
	return how, refused
}

// clash makes an agent do to a file that another holds something that must be refused.
func (g *ground) clash(a *claimer, path string) (how, refused string) {
	whole := filepath.Join(g.shop, path)
	theirs := []string{whole, filepath.Join(g.home, "alias", path), filepath.Join(g.home, "tree", "shop", path),
		filepath.Join(g.shop, "sub", "..", path), filepath.Join(g.shop, "link", "..", path)}[g.random.IntN(5)]
	if n := g.random.IntN(12); n < 3 {
		tools := a.files(false)
		tool := tools[g.random.IntN(len(tools))]
		return tool.Name, a.tool(tool, theirs)
	}
	mine := filepath.Join(g.shop, "src", "new-of-"+a.tape.Client.Name+".go")
	shortcut := filepath.Join(g.home, "shortcut")
	_ = os.Remove(shortcut)
	must(g.T, os.Symlink(whole, shortcut))
	how = []string{"echo x > '" + theirs + "'", "mv '" + theirs + "' '" + mine + "'",
		"mv '" + mine + "' '" + theirs + "'", "cd '" + g.shop + "' && git mv -f '" + path + "' '" + mine + "'",
		"rm -f '" + theirs + "'", "rm -rf '" + filepath.Dir(whole) + "'", "echo x > '" + shortcut + "'",
		"ln -sf /dev/null '" + theirs + "'", "cd '" + g.shop + "' && git checkout -- '" + path + "'",
		"git -C '" + g.shop + "' stash", "cd ~/shop && git reset --hard", "cp /dev/null ~/shop/'" + path + "'",
		"apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: " + mine + "\n*** Move to: " + theirs +
			"\n*** End Patch\nEOF",
		"apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: " + theirs + "\n*** End Patch\nEOF",
		"install -m 644 README.md '" + theirs + "'", "truncate -s 0 '" + theirs + "'"}[g.random.IntN(16)]
	return how, a.shell(how)
}
