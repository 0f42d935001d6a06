package markdown

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// TestPreview checks that a row shows words without Markdown or HTML.
func TestPreview(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{
			"# Result\n\n**Done**: `go test` passes\nand *all* is ~~well~~ fine.",
			"Result · Done: go test passes and all is well fine.",
		},
		{"Steps:\n1. one\n2. **two**\n   - [x] three", "Steps: one · two · three"},
		{
			"see [the log](https://e.f/x \"t\") and <https://go.dev>, ![pix](https://e.f/p)",
			"see the log and https://go.dev, 🖼 pix",
		},
		{"[ref][r] [no](javascript:x)\n\n[r]: https://a.b", "ref no"},
		{"| a | b |\n|---|---|\n| `x\\|y` | **2** |", "a · b · x|y · 2"},
		{"```go\nfunc main() {\n\tx := List<b>{}\n}\n```\nafter", "func main() { x := List<b>{} } · after"},
		{
			"<details><summary>More</summary>\n<a href=\"https://a.b/c_d_e\">there</a><br/></details>",
			"More there",
		},
		{
			"<!-- a\ncomment --> List<String> `<b>` 5 < 6 > 4 vector<std::string>",
			"List<String> <b> 5 < 6 > 4 vector<std::string>",
		},
		{"\\*no\\* \\# &lt;i&gt; &amp; &#106;", "*no* # & j"},
		{"> quote\n> more\n\n---\n***\n\ntext[^1]\n\n[^1]: a note", "quote more · text"},
		{"a\x1b[31mred\x00\x07\r\nb", "a [31mred\uFFFD b"},
		{"## שלום\n\nעולם", "שלום · עולם"},
		{"---\n\n<br>\n\n```\n```", ""},
		{"", ""},
		{
			strings.Repeat("word ", 50),
			"word word word word word word word word word word word word word word word word word word word word…",
		},
		{strings.Repeat("é", 120), strings.Repeat("é", 99) + "…"},
		{strings.Repeat("e\u0301", 120), strings.Repeat("e\u0301", 49) + "…"},
		{"中文**重点**。\n- 项目一\n- 项目二", "中文重点。 项目一 · 项目二"},
		{"[" + strings.Repeat("x", 200) + "](https://a.b)", strings.Repeat("x", 99) + "…"},
	} {
		if got := Preview(c.body, 100); got != c.want {
			t.Errorf("Preview(%q) =\n%q, want\n%q", c.body, got, c.want)
		}
	}
}

// TestPreviewOfMuch checks that long or tangled texts are not read to the end, and that no row is too long.
func TestPreviewOfMuch(t *testing.T) {
	for _, unit := range []string{"word ", "a\n\n", "[", "](", "[a](b", "*a_", "> ", "- ", "`", "<", "<b>", "é", "| ",
		"\xff"} {
		body := strings.Repeat(unit, 64<<10/len(unit))
		begun := time.Now()
		got := Preview(body, 160)
		if took := time.Since(begun); took > time.Second {
			t.Errorf("Preview of many %q took %v", unit, took)
		}
		if n := utf8.RuneCountInString(got); n > 160 || !utf8.ValidString(got) {
			t.Errorf("Preview of many %q has %d characters: %q", unit, n, got)
		}
	}
}
