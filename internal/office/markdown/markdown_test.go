package markdown

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"
)

// texts are what agents write.
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

var (
	oracle = goldmark.New(goldmark.WithExtensions(
		extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)),
		extension.Strikethrough,
		extension.NewLinkify(extension.WithLinkifyAllowedProtocols([]string{"http:", "https:"}),
			extension.WithLinkifyEmailRegexp(regexp.MustCompile(`^\z.`)),
			extension.WithLinkifyWWWRegexp(regexp.MustCompile(`^\z.`))),
		extension.TaskList),
		goldmark.WithRendererOptions(html.WithHardWraps(), html.WithUnsafe()))
	attributes = regexp.MustCompile(` (target|rel|title|aria-label)="[^"]*"`)
	around     = regexp.MustCompile(`\s*(<[^>]*>)\s*`)
	relative   = regexp.MustCompile(`<a href="(?:[^":]*)">(.*?)</a>|<img src="[^"]*" alt="([^"]*)">`)
)

// plain takes out in what two renderers may differ.
func plain(s string) string {
	s = attributes.ReplaceAllString(s, "")
	s = strings.NewReplacer("&#34;", `"`, "&quot;", `"`, "&#39;", "'", "%20", " ",
		` checked="" disabled="" type="checkbox"`, "[x]", ` disabled="" type="checkbox"`, "[ ]",
		` type="checkbox" disabled checked`, "[x]", ` type="checkbox" disabled`, "[ ]", "&amp;", "&", "🖼 ",
		"").Replace(s)
	s = relative.ReplaceAllString(s, "$1$2")
	return around.ReplaceAllString(s, "$1")
}

// TestLikeGoldmark compares with a renderer that follows the specification in full.
func TestLikeGoldmark(t *testing.T) {
	for _, text := range texts {
		var want bytes.Buffer
		if err := oracle.Convert([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		got := HTML(text)
		if diff := cmp.Diff(plain(want.String()), plain(got)); diff != "" {
			t.Errorf("%q\n%s\nwant %s\ngot %s", text, diff, want.String(), got)
		}
	}
}

func TestHTML(t *testing.T) {
	for text, want := range map[string]string{
		"List<String> <script>alert(1)</script>": "<p>List&lt;String&gt; &lt;script&gt;alert(1)&lt;/script&gt;</p>\n",
		"<div onclick=x>\nraw\n</div>":           "<p>&lt;div onclick=x&gt;<br>\nraw<br>\n&lt;/div&gt;</p>\n",
		"![pix](https://e.example/p.png)":        `<p><a href="https://e.example/p.png" target="_blank" rel="noopener noreferrer nofollow">🖼 pix</a></p>` + "\n",
		"[x](javascript:alert(1))":               "<p>x</p>\n",
		"[x](/logout) [y](//e.example)":          "<p>x y</p>\n",
		"```\"><b>\nx\n```":                      "<pre><code>x\n</code></pre>\n",
	} {
		if got := HTML(text); got != want {
			t.Errorf("HTML(%q) =\n%s, want\n%s", text, got, want)
		}
	}
}

// allowed is every tag that may come out, with its attributes.
var allowed = regexp.MustCompile(
	`^<(?:/?(?:p|h[1-6]|blockquote|ul|ol|li|pre|code|em|strong|del|table|thead|tbody|tr|th|td)|br|hr|/a|` +
		`ol start="[0-9]+"|code class="language-[A-Za-z0-9+_.#-]+"|t[hd] align="(?:left|right|center)"|input type="checkbox" disabled(?: aria-label="to do"| checked aria-label="done")|` +
		`a href="(?:https?://|mailto:)[^"<>\x00-\x20]*" target="_blank" rel="noopener noreferrer nofollow")>`)

// harmless reports what in out is not ours.
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

func FuzzHTML(f *testing.F) {
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
		if bad := harmless(HTML(text)); bad != "" {
			t.Errorf("HTML(%q) has %q", text, bad)
		}
	})
}

// TestHostileLength holds that no text takes long: what is nested or never closed must not be read again and again.
func TestHostileLength(t *testing.T) {
	const n = 24 << 10
	for _, unit := range []string{"[", "![", "[a](", "*a ", "**a*", "_a_ *", "`", "`a``", "<", "&", "> ", "- ", " -\n",
		"1. ", "|", "| a |\n|-|\n", "~~a", "https://a", "\\", "*", "a\n", "[a](https://x) ", "*_", "> a\n- ",
		"- a\n  "} {
		text := strings.Repeat(unit, n/len(unit))
		began := time.Now()
		out := HTML(text)
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%d times %q took %s", n/len(unit), unit, took)
		}
		if bad := harmless(out); bad != "" {
			t.Errorf("%q has %q", unit, bad)
		}
	}
}

func BenchmarkHTML(b *testing.B) {
	text := strings.Join(texts, "\n\n")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		HTML(text)
	}
}
