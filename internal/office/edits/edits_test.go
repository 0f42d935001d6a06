package edits

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/base/jsonx"
)

// TestTools checks the writes of each client's file tools, with the client's own members.
func TestTools(t *testing.T) {
	const patch = `*** Begin Patch\n*** Update File: a.go\n*** Move to: b.go\n@@\n-x\n+*** Add File: no\n` +
		`*** Add File: c/d.go\n+x\n*** Delete File: /srv/e.go\n*** End Patch\n`
	patched := []string{"a.go", "b.go", "c/d.go", "/srv/e.go"}
	for _, tt := range []struct {
		client, tool, given string
		want                []string
	}{
		{"claude", "Write", `{"file_path":"/srv/a b.go","content":"x"}`, []string{"/srv/a b.go"}},
		{"claude", "Edit", `{"file_path":"/srv/a","old_string":"x","new_string":"y"}`, []string{"/srv/a"}},
		{"claude", "MultiEdit", `{"file_path":"/srv/a","edits":[{"old_string":"x"}]}`, []string{"/srv/a"}},
		{"claude", "NotebookEdit", `{"notebook_path":"/srv/a.ipynb","new_source":"x"}`, []string{"/srv/a.ipynb"}},
		{"claude", "Read", `{"file_path":"/srv/a"}`, nil},
		{"claude", "Grep", `{"pattern":"x","path":"/srv"}`, nil},
		{"codex", "apply_patch", `{"command":"` + patch + `"}`, patched},
		{"codex", "apply_patch", `{"command":["apply_patch","` + patch + `"]}`, patched},
		{"codex", "apply_patch", "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch", []string{"a"}},
		{"gemini", "write_file", `{"file_path":"a","content":"x"}`, []string{"a"}},
		{"gemini", "replace", `{"file_path":"a","old_string":"x","new_string":"y"}`, []string{"a"}},
		{"gemini", "read_file", `{"absolute_path":"/a"}`, nil},
		{"qwen", "edit", `{"file_path":"/a","old_string":"x","new_string":"y"}`, []string{"/a"}},
		{"copilot", "create", `{"path":"/srv/a","file_text":"x"}`, []string{"/srv/a"}},
		{"copilot", "edit", `{"path":"/srv/a","old_str":"x","new_str":"y"}`, []string{"/srv/a"}},
		{"copilot", "view", `{"path":"/srv/a"}`, nil},
		{"copilot", "str_replace_editor", `{"command":"view","path":"/srv/a"}`, nil},
		{"copilot", "str_replace_editor", `{"command":"str_replace","path":"/srv/a"}`, []string{"/srv/a"}},
		{"copilot", "apply_patch", `{"patch":"` + patch + `"}`, patched},
		{"opencode", "write", `{"filePath":"/srv/a","content":"x"}`, []string{"/srv/a"}},
		{"opencode", "edit", `{"filePath":"/srv/a","oldString":"x"}`, []string{"/srv/a"}},
		{"opencode", "apply_patch", `{"patchText":"` + patch + `"}`, patched},
		{"opencode", "read", `{"filePath":"/srv/a"}`, nil},
		{"pi", "write", `{"path":"a","content":"x"}`, []string{"a"}},
		{"pi", "edit", `{"path":"a","oldText":"x"}`, []string{"a"}},
		{"cursor", "edit_file", `{"target_file":"a","code_edit":"x"}`, []string{"a"}},
		{"cursor", "Delete", `{"path":"a"}`, []string{"a"}},
		{"vscode", "create_file", `{"filePath":"/a","content":""}`, []string{"/a"}},
		{"vscode", "replace_string_in_file", `{"filePath":"/a","oldString":"x"}`, []string{"/a"}},
		{"vscode", "insert_edit_into_file", `{"filePath":"/a","code":"x"}`, []string{"/a"}},
		{"vscode", "multi_replace_string_in_file", `{"replacements":[{"filePath":"/a"},{"filePath":"/b"}]}`,
			[]string{"/a", "/b"}},
		{"vscode", "apply_patch", `{"input":"` + patch + `"}`, patched},
		{"any", "mcp__github__write_file", `{"path":"a"}`, nil},
		{"any", "Write", `{"file_path":7}`, nil},
		{"any", "Write", `{"file_path":"a\u0000b"}`, nil},
		{"any", "Write", `no JSON`, nil},
		{"any", "Write", ``, nil},
		{"any", "", `{"path":"a"}`, nil},
	} {
		got := Of(tt.tool, jsonx.Value(tt.given), "/srv/shop", "/home/ann")
		if diff := cmp.Diff(Writes{Paths: tt.want}, got); diff != "" {
			t.Errorf("%s, %s(%s) (-want +got):\n%s", tt.client, tt.tool, tt.given, diff)
		}
	}
}

// TestShellTools checks how each client's shell tools give the command and its directory.
func TestShellTools(t *testing.T) {
	for _, tt := range []struct{ tool, given, want string }{
		{"Bash", `{"command":"echo x > a","description":"> b"}`, "a"},
		{"exec_command", `{"cmd":"echo x > a","workdir":"/srv/shop"}`, "a"},
		{"exec_command", `{"cmd":"echo x > a","workdir":"/srv/b"}`, "/srv/b/a"},
		{"shell", `{"command":["bash","-lc","echo x > a"]}`, "a"},
		{"local_shell", `{"command":["rm","a b"],"workdir":"c"}`, "c/a b"},
		{"run_shell_command", `{"command":"echo x > a","dir_path":"sub"}`, "sub/a"},
		{"bash", `{"command":"echo x > a","workdir":"/srv/b"}`, "/srv/b/a"},
		{"run_in_terminal", `{"command":"echo x > a"}`, "a"},
		{"Shell", `{"command":"echo x > a","working_directory":""}`, "a"},
		{"powershell", `{"command":"echo x > a"}`, ""},
		{"exec", `{"input":"echo x > a"}`, ""}, // a script, whose tools reach the hooks by themselves
		{"bash", `{"command":{"a":1}}`, ""},
		{"bash", `{"command":[]}`, ""},
	} {
		got := Of(tt.tool, jsonx.Value(tt.given), "/srv/shop", "/home/ann")
		if !got.Shell || strings.Join(append(got.Paths, got.Names...), "|") != tt.want {
			t.Errorf("%s(%s) = %+v, want %q", tt.tool, tt.given, got, tt.want)
		}
	}
}

// inShell returns a command's writes in a directory that has the file f and the directory d: the paths, and with a
// plus the directories in whose working trees anything may change.
func inShell(t testing.TB, dir, command string) string {
	given, err := jsonx.Marshal(map[string]string{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	w := Of("Bash", given, dir, "/home/ann")
	list := append(w.Paths, w.Names...)
	for _, all := range w.All {
		list = append(list, "+"+all)
	}
	return strings.Join(list, " ")
}

func TestShell(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ command, want string }{
		// Redirections.
		{"echo x > a", "a"}, {"echo x >> a", "a"}, {"echo x >| a", "a"}, {"make &> a", "a"}, {"make &>> a", "a"},
		{"make 2> a", "a"}, {"make > a 2>&1", "a"}, {"make >& a", "a"}, {"> a", "a"}, {"echo x >a >b", "a b"},
		{"(echo x; echo y) > a", "a"}, {"{ echo x; } > a", "a"}, {"for i in 1 2; do echo $i; done > a", "a"},
		{"cat <<'EOF' > a\n> b\nrm c\nEOF\n", "a"}, {"cat > a <<EOF\n$(echo x > b)\nEOF\n", "a b"},
		{"exec > a", "a"}, {"make 2> >(tee a)", "a"}, {"x=$(echo y > a)", "a"}, {"echo `rm a`", "a"},
		{"if [ -f x ]; then echo x > a; else rm b; fi", "a b"}, {"while read l; do echo $l >> a; done < b", "a"},
		{"case $1 in x) rm a;; *) rm b;; esac", "a b"}, {"[[ -n $(rm a) ]]", "a"}, {"! rm a", "a"},
		// Words.
		{`echo > "a b"`, "a b"}, {`echo > a\ b`, "a b"}, {`echo > 'a'"b"c`, "abc"}, {`echo > "a\"b\c"`, `a"b\c`},
		{"echo > ~/a", "/home/ann/a"}, {`echo > "$HOME/a"`, "/home/ann/a"}, {"echo > ${PWD}/a", dir + "/a"},
		{"echo > '~/a'", "~/a"}, {"echo > $F", ""}, {"rm *.go a", "a"}, {"rm {a,b}", ""}, {"rm a[1]", ""},
		{`rm a\*`, "a*"}, {"rm $'a'", "a"}, {`rm $'a\n'`, ""}, {"rm ~bob/a", ""}, {`rm "${HOME:-x}"`, ""},
		{"rm $(ls)", ""}, {"echo > /dev/null", ""},
		// Programs.
		{"tee a b < c", "a b"}, {"echo x | tee -a a", "a"}, {"echo x | sudo tee a > /dev/null", "a"},
		{"sed -i 's/x/y/' a b", "a b"}, {"sed -i.bak -e s/x/y/ a", "a"}, {"sed -i '' 's/x/y/' a", "a"},
		{"sed -i '' -e 's/x/y/' a", "a"}, {"sed -i .bak 's/x/y/' a", "a"}, {"sed -Ei 's/x/y/' a", "a"},
		{"sed -i -e s/x/y/ .env .b c", ".env .b c"},
		{"sed --in-place=.b s/x/y/ a", "a"}, {"sed -n -i -f x.sed a", "a"}, {"sed 's/x/y/' a", ""},
		{"perl -pi -e 's/x/y/' a", "a"}, {"perl -i.bak -pe 's/x/y/' a b", "a b"}, {"perl -0pi -e 's/x/y/' a", "a"},
		{"perl -pe 's/x/y/' a", ""}, {"perl -i script a", "a"},
		{"mv a b", "a b"}, {"mv a d", "a d/a"}, {"mv a b d/", "a b d/a d/b"}, {"mv -t d a", "a d/a"},
		{"git mv a b", "a b"}, {"mv $x b", "b"}, {"mv $x d", ""},
		{"cp a b", "b"}, {"cp -r a d", "d/a"}, {"cp x/a new/", "new/a"}, {"cp -r a/. d", "d"}, {"cp a", ""},
		{"cp -T a d", "d"}, {"install -D -m 755 a b", "b"}, {"install -d a", ""}, {"ln -s a b", "b"},
		{"ln -s ../a", "a"}, {"ln -sfn a d", "d"}, {"rm -rf a b", "a b"}, {"rm -- -a", "-a"}, {"/bin/rm a", "a"},
		{"truncate -s 0 a", "a"}, {"dd if=a of=b bs=1", "b"}, {"curl -sSLo a https://x", "a"}, {"wget -qO- u", ""},
		{"sort -o a b", "a"}, {"gofmt -w f", "f"}, {"gofmt -l f", ""}, {"gofmt -w .", ""}, {"patch -p1 < x", "."},
		{"patch f x.diff", "f"}, {"patch --dry-run f", ""},
		// Working directories and wrappers.
		{"cd d && echo > a", "d/a"}, {"cd d; cd e; rm a", "d/e/a"}, {"cd /srv && rm a", "/srv/a"},
		{"cd; rm a", "/home/ann/a"},
		{"cd $X && rm a /b", "/b"}, {"(cd d && rm a); rm b", "d/a b"}, {"cd d | rm a", "a"}, {"cd d & rm a", "a"},
		{"cd d || exit 1; rm a", "d/a"}, {"if x; then cd d; fi; rm a", ""}, {"cd - && rm a", ""},
		{"cd d && rm a || rm b", "d/a d/b"}, {"pushd d; rm a; popd; rm b", "d/a"},
		{"bash -c 'cd d; rm a'; rm b", "d/a b"}, {`bash -lc "echo x > a"`, "a"}, {"sh -ec 'rm a'", "a"},
		{"bash <<'EOF'\nrm a\nEOF", "a"}, {"bash <<EOF\nrm $x/a\nEOF", ""}, {"bash x.sh <<'EOF'\nrm a\nEOF", ""},
		{"eval 'rm a'", "a"}, {"FOO=1 rm a", "a"}, {"env -i FOO=1 rm a", "a"}, {"sudo -u bob rm a", "a"},
		{"nohup rm a &", "a"}, {"time rm a", "a"}, {"timeout -k 5 10 rm a", "a"}, {"nice -n 5 rm a", "a"},
		{"command -v rm a", ""}, {"env -C d rm a", ""}, {"echo a | xargs rm", ""}, {"rm() { :; }; rm a", ""},
		// Variables.
		{"F=a; rm $F", "a"}, {`D=/srv/x; echo > "$D/a b"`, "/srv/x/a b"}, {"D=~/x && rm ${D}/a", "/home/ann/x/a"},
		{"F=$(x); rm $F", ""}, {"F=a F=$1; rm $F", ""}, {"F='a b'; rm $F", ""}, {`F='a b'; rm "$F"`, "a b"},
		{"F='*'; rm $F", ""}, {"F=a x; rm $F", ""}, {"F=a; (F=b); rm $F", "a"}, {"F=a; F=b | x; rm $F", "a"},
		{"F=a; if x; then F=b; fi; rm $F", ""}, {"F=a; x && F=b; rm $F", ""}, {"F=a; x || F=b; rm $F", ""},
		{"F=a; F+=b; rm $F", ""}, {"F=a; read F; rm $F", ""}, {"export F=a; rm $F", "a"}, {"local F; rm $F", ""},
		{"F=a; : $((F++)); rm $F", ""}, {"F=a; ((F++)); rm $F", ""}, {"F=a; echo ${F:=b}; rm $F", ""},
		{"F=a; . x; rm $F", ""}, {"F=a; f() { F=b; }; f; rm $F", ""}, {"F=a; bash -c 'rm $F'", ""},
		{"F=a; rm ${F%x} ${#F}", ""}, {"D=d; cd $D && rm a", "d/a"}, {"f() { cd d; }; f; rm a", ""},
		{"for f in a b; do sed -i s/x/y/ $f.go; done; rm $f", "a.go b.go"}, {"for f in *; do rm $f; done", ""},
		{"for d in d e; do (cd $d && rm a); done; rm b", "d/a e/a b"}, {"for f in a $x; do rm $f b; done", "b"},
		{"for d in d e; do cd $d; rm a; done", "d/a"}, {"for ((i=0; i<2; i++)); do rm $i; done", ""},
		{"i=1; while x; do echo > f$i; i=$((i+1)); done; rm $i", "f1"},
		// Patches.
		{"apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\nEOF", "a"},
		{"cd d && apply_patch <<EOF\n*** Begin Patch\n*** Delete File: a\n*** End Patch\nEOF", "d/a"},
		{"apply_patch '*** Begin Patch\n*** Update File: a\n*** Move to: b\n*** End Patch'", "a b"},
		// Git.
		{"git checkout -- a", "a"}, {"git checkout HEAD -- a b", "a b"}, {"git checkout HEAD~1 a", "a"},
		{"git checkout f", "f"}, {"git checkout .", "."}, {"git checkout main", "+."}, {"git checkout -", "+."},
		{"git checkout -b x", ""}, {"git checkout -b x origin/x", "+."}, {"git checkout", ""}, {"git checkout $B", ""},
		{"git switch main", "+."}, {"git switch -c x", ""}, {"git restore a", "a"}, {"git restore --staged a", ""},
		{"git restore -SW a", "a"}, {"git restore --source=x .", "."}, {"git rm a", "a"}, {"git rm --cached a", ""},
		{"git stash", "+."}, {"git stash list", ""}, {"git stash pop", "+."}, {"git stash push -m x -- a", "a"},
		{"git stash -u", "+."}, {"git stash -- a", "a"}, {"git reset --hard HEAD~1", "+."}, {"git reset a", ""},
		{"git clean -fdx", "."}, {"git clean -n", ""}, {"git clean -fd d", "d"}, {"git merge x", "+."},
		{"git rebase main", "+."}, {"git pull --rebase", "+."}, {"git am x", "+."}, {"git apply x.diff", "+."},
		{"git apply --check x.diff", ""}, {"git cherry-pick x", "+."}, {"git -C d checkout -- a", "d/a"},
		{"git -C d stash; rm a", "a +d"}, {"git -c a.b=c --no-pager reset --hard", "+."}, {"git -C $X stash", ""},
		{"cd d && git reset --hard", "+d"},
		// No writes that the text shows.
		{"ls", ""}, {"cat a", ""}, {"grep foo a > /dev/null 2>&1", ""}, {`echo "a > b"`, ""}, {"# rm a", ""},
		{"test a -gt b", ""}, {"[[ a > b ]]", ""}, {"(( a > b ))", ""}, {"git status", ""}, {"git commit -am x", ""},
		{"git diff > /dev/null", ""}, {"git log --oneline", ""}, {"git add .", ""}, {"git push", ""},
		{"git fetch", ""}, {"go test ./...", ""}, {"make", ""}, {"find . -name '*.go' | head", ""}, {"touch a", ""},
		{"mkdir -p a", ""}, {"echo rm a", ""}, {"cat < a", ""}, {"ssh host 'rm a'", ""}, {"awk '$1 > 2' a", ""},
		{"python3 - <<'EOF'\nopen('a', 'w')\nEOF", ""}, {"rm 'a", ""}, {"rm a )", ""}, {"", ""}, {"git", ""},
		{"git checkout --help", ""}, {"bash -c", ""}, {"timeout", ""}, {"env", ""}, {"cp", ""}, {"sed -i", ""},
	} {
		if got := inShell(t, dir, tt.command); got != tt.want {
			t.Errorf("%s\nwrites %q, want %q", tt.command, got, tt.want)
		}
	}
}

// TestNames checks which commands affect a link itself rather than its target.
func TestNames(t *testing.T) {
	for command, want := range map[string]Writes{
		"rm a; unlink b; git rm c":       {Names: []string{"a", "b", "c"}},
		"mv a b; git mv c d":             {Names: []string{"a", "b", "c", "d"}},
		"ln -sf x a; ln -s ../b":         {Names: []string{"a", "b"}},
		"cp a b; tee c; echo > d; rm e/": {Paths: []string{"b", "c", "d"}, Names: []string{"e/"}},
	} {
		given, err := jsonx.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		want.Shell = true
		if diff := cmp.Diff(want, Of("Bash", given, "/nowhere", "")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", command, diff)
		}
	}
}

// TestBounds: parsing and results are limited, and no nesting is too deep.
func TestBounds(t *testing.T) {
	many := "rm " + strings.Repeat("a", 100)
	for i := range 1000 {
		many += " f" + strings.Repeat("x", i%30) + string(rune('a'+i%26))
	}
	given, _ := jsonx.Marshal(map[string]string{"command": many})
	if w := Of("Bash", given, "/", ""); len(w.Names) != MaxPaths || !w.More {
		t.Errorf("many paths: %d, more %t", len(w.Names), w.More)
	}
	if got := inShell(t, "/", "rm a #"+strings.Repeat("x", MaxCommand)); got != "" {
		t.Errorf("a long command writes %q", got)
	}
	if got := inShell(t, "/", "bash -c 'bash -c \"bash -c \\\"rm a\\\"\"'"); got != "" {
		t.Errorf("the fourth shell writes %q", got)
	}
	for _, part := range []string{"(", "((", "$(", "$((", "`", "\"$(", "{ ", "if ", "a;", "a|", "a&&", "<(", "${a:-",
		"<<a\n", "! ", "[[ (", "case x in x) ", "f() ", "a=(", "!(", "\"", "'", "\\", "$[", "x <<E <<E <<E\n",
		"(())", "$(())", "${x}", "time ", "$((1+", "\x00", "\"`", "[", "a[", "${a[", "&"} {
		inShell(t, "/", strings.Repeat(part, MaxCommand/len(part)))
	}
	const half = MaxCommand/2 - 100
	for _, body := range []string{
		"rm" + strings.Repeat(" a", half/2),
		"bash -c '" + strings.Repeat("rm a;", half/5) + "'",
		"apply_patch <<E\n" + strings.Repeat("*** Add File: a\n", half/20) + "E\n",
		`rm "` + strings.Repeat("$a", half/2) + `"`,
		strings.Repeat("for i in a a a a a a a; do ", half/40) + strings.Repeat("done; ", half/40),
		"gofmt -w " + strings.Repeat("a ", half/2),
		strings.Repeat("a=b$i; ", half/7),
	} {
		inShell(t, "/", "for i in "+strings.Repeat("a ", half/2)+"; do "+body+"\ndone") // would take minutes
	}
}

func FuzzOf(f *testing.F) {
	for _, s := range []string{"cd d && sed -i '' x a; git -C b stash", "bash -c 'rm a' <<E > b\n$(c)\nE\n",
		"apply_patch <<E\n*** Add File: a\nE\n", "cp -t d a; mv a b/; perl -pi -e x a",
		"if x; then cd a; else rm b; fi"} {
		f.Add("Bash", s)
		f.Add("apply_patch", s)
	}
	f.Fuzz(func(t *testing.T, tool, text string) {
		given, err := jsonx.Marshal(map[string]string{"command": strings.ToValidUTF8(text, "?"), "path": "a"})
		if err != nil {
			t.Fatal(err)
		}
		for _, given := range []jsonx.Value{given, jsonx.Value(text)} {
			w := Of(tool, given, "/nowhere", "/home/ann")
			all := slices.Concat(w.Paths, w.Names, w.All)
			if len(all) > MaxPaths {
				t.Errorf("%d paths", len(all))
			}
			for _, path := range all {
				if path == "" || strings.ContainsRune(path, 0) || strings.HasPrefix(path, "/dev/") {
					t.Errorf("writes %q", path)
				}
			}
		}
	})
}

func BenchmarkOf(b *testing.B) {
	for _, bb := range []struct{ name, tool, given string }{
		{"read", "Read", `{"file_path":"/srv/shop/a.go"}`},
		{"write", "Write", `{"file_path":"/srv/shop/a.go","content":"package a\n"}`},
		{"test", "Bash", `{"command":"go test ./...","description":"Run the tests"}`},
		{"sed", "Bash", `{"command":"cd d && sed -i 's/a/b/' x.go && go test ./... 2>&1 | tail -5"}`},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Of(bb.tool, jsonx.Value(bb.given), "/srv/shop", "/home/ann")
			}
		})
	}
}

// TestReads: tools that only read are recognised in any client's spelling; unknown tools may write.
func TestReads(t *testing.T) {
	for _, tool := range []string{"Read", "Grep", "Glob", "WebFetch", "read_file", "list_dir", "search_file_content",
		"readFile", "view"} {
		if !Reads(tool) {
			t.Errorf("%s is said to write", tool)
		}
	}
	for _, tool := range []string{"Bash", "shell", "Task", "BashOutput", "save_memory", "mcp__files__read", "unknown",
		"powershell", ""} {
		if Reads(tool) {
			t.Errorf("%s is said to read only", tool)
		}
	}
	for tool := range tools {
		if Reads(tool) {
			t.Errorf("%s is said to write, and to read only", tool)
		}
	}
}
