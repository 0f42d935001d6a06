package web

import (
	"testing"

	"pennypost/internal/office/web/sitetest"
	"pennypost/internal/office/web/words"
)

// attacks are texts that would do harm as markup.
var attacks = []string{
	`<script>alert(1)</script>`, `<SCRIPT SRC=//evil.example/x.js></SCRIPT>`, `<scr<script>ipt>alert(1)</script>`,
	"<script\n>alert(1)</script\n>", `<img src=x onerror=alert(1)>`,
	`<svg onload=alert(1)>`, `<svg><script>alert(1)</script></svg>`,
	`<svg><a xlink:href="javascript:alert(1)"><text>x</text></a></svg>`,
	`<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>`,
	`<iframe src="javascript:alert(1)"></iframe>`, `<iframe srcdoc="<script>alert(1)</script>">`,
	`<object data="data:text/html,<script>alert(1)</script>">`, `<embed src=//evil.example>`,
	`<style>*{background:url(//evil.example)}</style>`, `<link rel=stylesheet href=//evil.example>`,
	`<meta http-equiv=refresh content="0;url=//evil.example">`, `<base href=//evil.example/>`,
	`<form action=//evil.example><button>Go</button></form>`, `<input autofocus onfocus=alert(1)>`,
	`<details open ontoggle=alert(1)>`, `<div hx-get="/send" hx-trigger="load">`, `<a id="main" name="toasts">x</a>`,
	`<!--><script>alert(1)</script>-->`, `<!-- --!><script>alert(1)</script> -->`,
	`<![CDATA[<script>alert(1)</script>]]>`, `<?php alert(1) ?>`, `<!DOCTYPE html><script>alert(1)</script>`,
	"text <b onmouseover=alert(1)>bold</b> text", "</div></main><script>alert(1)</script>",
	"`<script>`<script>alert(1)</script>", "```\n</code></pre><script>alert(1)</script>\n```",
	"``` js\" onload=\"alert(1)\nx\n```", "```<script>alert(1)</script>\nx\n```",
	"~~~ \"><img src=x onerror=alert(1)>\nx\n~~~",
	`[x](javascript:alert(1))`, `[x](JaVaScRiPt:alert(1))`, `[x]( javascript:alert(1))`, "[x](java\tscript:alert(1))",
	"[x](<java\nscript:alert(1)>)", `[x](javascript&colon;alert(1))`, `[x](&#106;avascript:alert(1))`,
	`[x](&#x6A&#x61;vascript:alert(1))`, `[x](&Tab;javascript:alert(1))`, `[x](\javascript:alert(1))`,
	`[x](java&NewLine;script:alert(1))`, "[x](\u0001javascript:alert(1))", `[x](%6Aavascript:alert(1))`,
	`[x](javascript%3Aalert(1))`,
	`[x](javascript://example.org/%0Aalert(1))`, `[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)`,
	`[x](data:image/svg+xml,<svg onload=alert(1)>)`, `[x](vbscript:msgbox(1))`, `[x](VBSCRIPT:x)`,
	`[x](file:///etc/passwd)`,
	`[x](blob:https://a/b)`, `[x](//evil.example)`, `[x](/send)`, `[x](?q=1)`, `[x](#main)`, `[x](\\evil.example)`,
	`[x](http:evil)`, `[x](https:/evil.example)`, `[x](http://)`, `[x](ftp://a/b)`, `[x](tel:1)`,
	`<javascript:alert(1)>`, `<data:text/html,x>`, `<vbscript:x>`, `<JAVASCRIPT:alert(1)>`,
	`<https://example.org/"onmouseover="alert(1)>`, `https://example.org/"onmouseover=alert(1)`,
	`http://a.b/<script>alert(1)</script>`,
	`javascript:alert(1)`, `www.example.org/"><script>alert(1)</script>`, `<x@y.z"onclick=alert(1)>`,
	`mailto:a@b.c"onclick=alert(1)`,
	`[x](https://a.b "title\" onmouseover=\"alert(1)")`, `[x](https://a.b 'x" onmouseover="alert(1)')`,
	`[x](https://a.b"onmouseover="alert(1))`, `[x](<https://a.b" onmouseover="alert(1)>)`,
	`![x](https://evil.example/pixel.png)`, `![x](javascript:alert(1))`, `![x"onerror="alert(1)](https://a.b)`,
	`![](data:image/svg+xml;base64,PHN2Zz4=)`, `![<script>alert(1)</script>](https://a.b)`,
	`![x](https://a.b "on\"error=alert(1)")`,
	"[x][r]\n\n[r]: javascript:alert(1)", "[x][r]\n\n[r]: <javascript:alert(1)>", "[r]\n\n[r]: data:text/html,x \"t\"",
	"![r]\n\n[r]: vbscript:x",
	`# head {#x onclick=alert(1)}`, `# head {onclick="alert(1)"}`, "head {#main .x style=\"x\"}\n====",
	`## <img src=x onerror=alert(1)>`,
	`[[x](javascript:alert(1))](https://a.b)`, `[![x](https://a.b/i.png)](https://a.b)`,
	`[![x](javascript:alert(1))](javascript:alert(2))`, `[a [b](https://a.b) c](https://d.e)`,
	`[x](https://a.b/[y](javascript:alert(1)))`, `[https://a.b](https://c.d)`,
	"| a | b |\n|---|:-:|\n| <script>alert(1)</script> | [x](javascript:alert(1)) |",
	"- [ ] <img src=x onerror=alert(1)>\n- [x] [y](javascript:z)", "> <script>alert(1)</script>",
	"1. x\n99999999999. y", `~~<b>x</b>~~`,
	"\x00<script>alert(1)</script>", "<scr\x00ipt>alert(1)</script>", "\xff<img src=x onerror=alert(1)>",
	"<\u00a0img src=x onerror=alert(1)>", `&lt;script&gt;alert(1)&lt;/script&gt;`,
	`&#60;script&#62;alert(1)&#60;/script&#62;`, `\<script>alert(1)\</script>`,
	"[x[^1]](https://a.b) <std::string> [^\"><script>]\n\n[^1]: y <script>\n[^\"><script>]: z",
}

func TestMarkdownIsHarmless(t *testing.T) {
	for _, text := range attacks {
		out := string(words.Markdown(text, ""))
		if err := sitetest.Harmless(out); err != nil {
			t.Errorf("%q: %v\n%s", text, err, out)
		}
	}
}

// TestOracle tests that Harmless finds harmful markup.
func TestOracle(t *testing.T) {
	for _, out := range []string{
		`<script>x</script>`, `<img src="x">`, `<p onclick="x">y</p>`, `<a href="javascript:x">y</a>`,
		`<a href="/x">y</a>`, `<a href="https:x">y</a>`, `<p>`, `</p>`, `<p><em></p></em>`,
		`<a href="&#106;avascript:x">y</a>`,
		`<a href=https://x>y</a>`, `a < b`, `<p id="main">x</p>`,
		`<a href="https://a.b"><a href="https://a.b"></a></a>`, `<!-- x -->`, `<p style="x">y</p>`,
		`<a href="https://a.b" href="x">y</a>`, `<a href="https://\evil">y</a>`,
	} {
		if sitetest.Harmless(out) == nil {
			t.Errorf("%s passes", out)
		}
	}
}

func FuzzMarkdown(f *testing.F) {
	for _, text := range attacks {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		out := string(words.Markdown(text, ""))
		if err := sitetest.Harmless(out); err != nil {
			t.Errorf("%q: %v\n%s", text, err, out)
		}
	})
}
