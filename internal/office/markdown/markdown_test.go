package markdown

import (
	"html"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// texts are examples of agents' text.
var texts = []string{
	"# Title\nSome text\nwith a line break\n\nAnother paragraph.",
	"A heading\n===\nand\n---\n\ntext",
	"- one\n  - two\n    - three\n- four\n\n\n* other list",
	"- [x] done\n- [ ] to do\n- plain",
	"1. first\n   ```go\n   func main() { x := List<String> }\n   ```\n2. second\n\n   with a paragraph\n3. third",
	"7. seven\n8. eight",
	"1) a\n2) b\n\ntext",
	"Steps:\n1. one\n2. two\nstill two\n\ndone",
	"In 1998. no list\n2. and this is text",
	"- a\n\n- b\n- c",
	"- a\n\n  b\n\n      code\n- c",
	"-   wide\n\n    inside\n- ",
	"> quote\n> more\nlazy\n\n> - list\n>   in quote\n> > deeper",
	"```\nplain\n```\n~~~diff\n- a\n+ b\n~~~\n````md\n```\nx\n```\n````\n```go\nnever closed",
	"    indented\n\n    code\n\nafter",
	"text\n```\ncode\n```\ntext",
	"---\n***\n_ _ _\ntext\n\n---",
	"| a | b |\n|:--|--:|\n| `x\\|y` | 2 |\n| only one |\n\nafter",
	"a | b\n-|-\n1 | 2 | 3",
	"Text before\n| a | b |\n|---|---|\n| 1 | 2 |",
	"**bold** *em* ***both*** __bold__ _em_ snake_case_word **bold *em* bold** ~~gone~~ ~one~ * not * ** no **",
	"**bold**text **“quoted”** a*b*c 2*3*4 *a **b* c** `**no**`",
	"**Note:** see `a`, `` a ` b `` and ` `` `.",
	"[a](https://go.dev) [b](<https://go.dev/a b> \"title\") [c](https://go.dev/(x)) [d] (x) [*e* " +
		"`f`](https://go.dev)",
	"see https://go.dev/x?a=1&b=2. and (https://go.dev/y) and https://go.dev/a_b_c!",
	"<https://go.dev/a> and mail <a@b.example>",
	"\\*no\\* \\# \\[x\\] a\\\nb &lt;b&gt; &amp; &copy; &#106; &nosuch;",
	"#no heading\n\n# heading #\n\n####### seven",
	"* a\n* b\n- c\n- d\n+ e",
	"中文**重点**，和`代码`。\n- 项目一\n- 项目二",
	"a\\\\b 100% $5 5 < 6 > 4 & co",
	"![no](x) text ]( ) [ [a [b](https://go.dev) c]",
	"",
	"\n\n  \n",
}

func TestMessage(t *testing.T) {
	link := func(to, inside string) string {
		return `<a href="` + to + `" target="_blank" rel="noopener noreferrer nofollow">` + inside + "</a>"
	}
	p := func(inside string) string { return `<p dir="auto">` + inside + "</p>\n" }
	code := func(pre string) string {
		return `<div class="code-block"><button type="button" class="copy" data-copy>Copy<span class="hidden"> code` +
			"</span></button>" + pre + "</div>\n"
	}
	for text, want := range map[string]string{
		"    indented":                           code("<pre><code>indented\n</code></pre>\n"),
		"a\nb":                                   p("a<br>\nb"),
		"List<String> <script>alert(1)</script>": p("List&lt;String&gt; &lt;script&gt;alert(1)&lt;/script&gt;"),
		"<div onclick=x>\nraw\n</div>":           p("&lt;div onclick=x&gt;<br>\nraw<br>\n&lt;/div&gt;"),
		"vector<std::string> <b:c>":              p("vector&lt;std::string&gt; &lt;b:c&gt;"),
		"```\"><b>\nx\n```":                      code("<pre><code>x\n</code></pre>\n"),
		"``` go b\"c\nx\n```":                    code("<pre><code class=\"language-go\">x\n</code></pre>\n"),
		"```mermaid\nA-->B\n```": code(
			"<pre><code class=\"language-mermaid\">A--&gt;B\n</code></pre>\n"),
		"- [x] a\n- [ ] b": `<ul dir="auto">
<li dir="auto"><input type="checkbox" disabled checked aria-label="done"> a</li>
<li dir="auto"><input type="checkbox" disabled aria-label="to do"> b</li>
</ul>
`,
		"a|b\n:-:|-\n~~1~~|2": `<table>
<thead>
<tr>
<th align="center" dir="auto">a</th>
<th dir="auto">b</th>
</tr>
</thead>
<tbody>
<tr>
<td align="center" dir="auto"><del>1</del></td>
<td dir="auto">2</td>
</tr>
</tbody>
</table>
`,
		"> # שלום": "<blockquote dir=\"auto\"><h1 dir=\"auto\">שלום</h1>\n</blockquote>\n",
		"see http://localhost:8080/x?a=1. 'HTTPS://go.dev/a_b_c' ghttp://x.y a:b ://c": p("see " +
			link("http://localhost:8080/x?a=1", "http://localhost:8080/x?a=1") + ". '" +
			link("HTTPS://go.dev/a_b_c", "HTTPS://go.dev/a_b_c") + "' ghttp://x.y a:b ://c"),
		"(https://a.b/(c)) 链接：https://a.b\nhttp\n://x *https://c.d* [https://e.f]": p("(" +
			link("https://a.b/(c)", "https://a.b/(c)") + ") 链接：" + link("https://a.b", "https://a.b") +
			"<br>\nhttp<br>\n://x <em>" + link("https://c.d", "https://c.d") + "</em> [https://e.f]"),
		"www.go.dev a@b.example ftp://a.example <https://go.dev> <a@b.example>": p(
			"www.go.dev a@b.example ftp://a.example " + link("https://go.dev", "https://go.dev") + " " +
				link("mailto:a@b.example", "a@b.example")),
		"[*x*](https://go.dev \"title\") [y][r]\n\n[r]: mailto:a@b.example": p(
			link("https://go.dev", "<em>x</em>") + " " + link("mailto:a@b.example", "y")),
		"![pix](https://e.f/p)":              p(link("https://e.f/p", "🖼 pix")),
		"![](https://e.f/p)":                 p(link("https://e.f/p", "🖼 image")),
		"[![p](https://a.b)](https://c.d)":   p(link("https://c.d", "🖼 p")),
		"![p [l](https://a.b)](https://c.d)": p(link("https://c.d", "🖼 p l")),
		"[a <https://a.b>](https://c.d)": p(link("https://c.d",
			"a https://a.b")),
		"[x](javascript:alert(1)) ![y](data:)":                                    p("x 🖼 y"),
		"[x](/logout) [y](//e.example) [z](http://) [w](https:///x) [v](mAilto:)": p("x y z w v"),
	} {
		if diff := cmp.Diff(want, Message(text, "")); diff != "" {
			t.Errorf("Message(%q): -want +got\n%s", text, diff)
		}
	}
}

// TestDocument checks that a document's lines may end anywhere.
func TestDocument(t *testing.T) {
	if got, want := Document("one\r\ntwo  \nthree", ""), "<p dir=\"auto\">one\ntwo<br>\nthree</p>\n"; got != want {
		t.Errorf("Document = %q, want %q", got, want)
	}
}

// TestFootnotes checks that the notes of two messages on one page lead to their own.
func TestFootnotes(t *testing.T) {
	ids := regexp.MustCompile(` id="([^"]+)"`)
	seen := make(map[string]bool)
	for id, text := range []string{"a[^1]\n\n[^1]: one", "a[^1]\n\n[^1]: one",
		"b[^1] [c[^1]](https://go.dev)\n\n[^1]: two"} {
		out := Message(text, strconv.Itoa(id))
		found := ids.FindAllStringSubmatch(out, -1)
		if len(found) != 2 {
			t.Errorf("%d ids in %s", len(found), out)
		}
		for _, m := range found {
			if seen[m[1]] {
				t.Errorf("the id %s is there twice", m[1])
			}
			seen[m[1]] = true
			if !strings.Contains(out, `href="#`+m[1]+`"`) {
				t.Errorf("nothing leads to %s", m[1])
			}
		}
		if bad := harmless(out); bad != "" {
			t.Errorf("Message(%q) has %q", text, bad)
		}
	}
}

// allowed matches every tag that may come out, with its attributes.
var allowed = regexp.MustCompile(
	`^<(?:div class="code-block"|button type="button" class="copy" data-copy|span class="hidden"|/button|/span|` +
		`/?(?:pre|code|em|strong|del|table|thead|tbody|tr)|/?(?:p|h[1-6]|blockquote|ul|ol|li|th|td)` +
		`|(?:p|h[1-6]|blockquote|ul|ol(?: start="[0-9]+")?|li(?: id="note-[0-9a-f]{8}-fn:[0-9]+")?|` +
		`t[hd](?: align="(?:left|right|center)")?) dir="auto"|br|hr|/a|/sup|/div|` +
		`code class="language-[A-Za-z0-9+_.#-]+"|div class="footnotes" role="doc-endnotes"|` +
		`sup id="note-[0-9a-f]{8}-fnref[0-9]*:[0-9]+"|` +
		`a href="#note-[0-9a-f]{8}-fn(?:ref[0-9]*)?:[0-9]+" class="footnote-(?:back)?ref" role="doc-(?:noteref|backlink)"|` +
		`input type="checkbox" disabled(?: aria-label="to do"| checked aria-label="done")|` +
		`a href="(?i:https?://[^/?#\\]|mailto:)[^"<>\x00-\x20]*" target="_blank" rel="noopener noreferrer nofollow")>`)

// harmless reports the first part of out that is not allowed.
func harmless(out string) (bad string) {
	for i := 0; i < len(out); i++ {
		switch out[i] {
		case '<':
			tag := allowed.FindString(out[i:])
			if tag == "" {
				return out[i:min(len(out), i+80)]
			}
			i += len(tag) - 1
		case '>':
			return out[max(0, i-40) : i+1]
		}
	}
	return ""
}

func FuzzMessage(f *testing.F) {
	for _, text := range texts {
		f.Add(text)
	}
	for _, text := range []string{
		"[a](javascript:alert(1))", "[a](JaVaScRiPt:alert(1))", "[a](java\nscript:alert(1))",
		"[a](&#106;avascript:alert(1))", "[a](data:text/html;base64,x)",
		"[a](vbscript:x)", "<javascript:alert(1)>", "<a href=x onmouseover=y>", "![a](x\" onerror=\"y)",
		"[a](https://x\" onclick=\"y)", "# h {#id onclick=x}",
		"```x\" onclick=\"y\nz\n```", "[<script>](https://x)", "**<b**", "<!-- -->", "<![CDATA[x]]>", "<?php ?>",
		"[a]: javascript:x\n\n[a]", "`<b>`", "|<b>|\n|-|\n|<i>|",
		"https://x\"onclick=y", "https://x'><script>", "&lt;script&gt;", "&#60;script&#62;", "\x00<b>\x00",
		"[a](mailto:x?subject=\"><b>)", "<https://x\"><b>",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if bad := harmless(Message(text, "")); bad != "" {
			t.Errorf("Message(%q) has %q", text, bad)
		}
	})
}

// TestHostileLength checks that no text takes long: nested or unclosed parts must not be read again and again.
func TestHostileLength(t *testing.T) {
	const n = 24 << 10
	for _, unit := range []string{"[", "![", "[a](", "[a](<", "[a](x \"", "[a][", "[a]: x\n", "[^a]", "[^1]: ", "*a ",
		"**a*", "_a_ *", "`", "`a``", "<", "&", "> ", "> - ", "- ", " -\n", "1. ", "|", "|-\n", "| a |\n|-|\n", "~~a",
		"https://a", "a:", "http:", "https://a)", "://", "http://,", "\\", "*", "a\n", "[a](https://x) ", "*_",
		"> a\n- ", "- a\n  "} {
		text := strings.Repeat(unit, n/len(unit))
		began := time.Now()
		out := Message(text, "")
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%d times %q took %s", n/len(unit), unit, took)
		}
		if bad := harmless(out); bad != "" {
			t.Errorf("%q has %q", unit, bad)
		}
	}
}

// TestDepth checks that blocks nested too deep become text, all of it.
func TestDepth(t *testing.T) {
	out := Message(strings.Repeat("> ", 100)+"x", "")
	if quotes := strings.Count(out, "<blockquote"); quotes < 16 || quotes > maxDepth ||
		quotes+strings.Count(out, "&gt;") != 100 {
		t.Errorf("%d quotes in %s", quotes, out)
	}
}

// TestTangled checks that a text whose links would take minutes to parse is shown as text, unlike a long line with
// many links.
func TestTangled(t *testing.T) {
	for _, unit := range []string{"[a](", "[a](<", "[a]: x\n"} {
		text := strings.Repeat(unit, 1<<20/len(unit))
		if out := Document(text, ""); out != "<pre>"+html.EscapeString(text)+"</pre>\n" {
			t.Errorf("%d times %q are %.60q", 1<<20/len(unit), unit, out)
		}
	}
	if out := Document(strings.Repeat("[a](https://go.dev) and ", 1000), ""); strings.Count(out, "<a ") != 1000 {
		t.Errorf("links on one line: %.60q", out)
	}
}

func BenchmarkMessage(b *testing.B) {
	text := strings.Join(texts, "\n\n")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Message(text, "")
	}
}
