package markdown

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Message renders mail, in which a line break stays one: people who write messages do not wrap lines, so a break is
// intentional. The id, any text, must be unique on the page. Invalid UTF-8 comes out as U+FFFD.
func Message(text, id string) string { return convert(message(), text, id) }

// Document renders a file, in which a line break is white space: prose in files is wrapped at some column. (GitHub
// makes the same choices.) The id, any text, must be unique on the page. Invalid UTF-8 comes out as U+FFFD.
func Document(text, id string) string { return convert(document(), text, id) }

var (
	message  = sync.OnceValue(func() goldmark.Markdown { return renderingWith(html.WithHardWraps()) })
	document = sync.OnceValue(func() goldmark.Markdown { return renderingWith() })
)

func convert(md goldmark.Markdown, text, id string) string {
	text = readable(text)
	if tangled(text) {
		return "<pre>" + string(util.EscapeHTML([]byte(text))) + "</pre>\n"
	}
	var out strings.Builder
	pc := parser.NewContext()
	pc.Set(prefixKey, fmt.Appendf(nil, "note-%08x-", crc32.ChecksumIEEE([]byte(id+"\n"+text))))
	if err := md.Convert([]byte(text), &out, parser.WithContext(pc)); err != nil {
		panic(err) // a strings.Builder accepts everything
	}
	return out.String()
}

// readable returns a text as UTF-8 without NULs, with \n as line ends.
func readable(text string) string {
	return strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00",
		"\uFFFD").Replace(strings.ToValidUTF8(text, string(utf8.RuneError)))
}

// tangled reports whether a text has so many unfinished links that parsing would take too long. For each beginning,
// goldmark searches the whole line for the end of the address; it takes definitions off a paragraph one by one.
func tangled(text string) bool {
	steps := strings.Count(text, "]:") * len(text) / 16
	for line := range strings.Lines(text) {
		steps += strings.Count(line, "](") * len(line)
	}
	return steps > 1<<27 // a fifth of a second
}

// renderingWith makes a renderer whose parsers do not know HTML.
func renderingWith(options ...renderer.Option) goldmark.Markdown {
	return goldmark.New(
		goldmark.WithParser(parser.NewParser(
			parser.WithBlockParsers(
				util.Prioritized(parser.NewSetextHeadingParser(), 100),
				util.Prioritized(parser.NewThematicBreakParser(), 200),
				util.Prioritized(shallow{parser.NewListParser()}, 300),
				util.Prioritized(parser.NewListItemParser(), 400),
				util.Prioritized(parser.NewCodeBlockParser(), 500),
				util.Prioritized(parser.NewATXHeadingParser(), 600),
				util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
				util.Prioritized(shallow{parser.NewBlockquoteParser()}, 800),
				util.Prioritized(shallow{extension.NewFootnoteBlockParser()}, 999),
				util.Prioritized(parser.NewParagraphParser(), 1000)),
			parser.WithInlineParsers(
				util.Prioritized(parser.NewCodeSpanParser(), 100),
				util.Prioritized(extension.NewFootnoteParser(), 101),
				util.Prioritized(parser.NewLinkParser(), 200),
				util.Prioritized(parser.NewAutoLinkParser(), 300),
				util.Prioritized(parser.NewEmphasisParser(), 500),
				util.Prioritized(bareAddress{}, 999)),
			parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...),
			parser.WithASTTransformers(
				util.Prioritized(extension.NewFootnoteASTTransformer(), 999),
				util.Prioritized(tamer{}, 1000)))),
		goldmark.WithExtensions(
			extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)),
			extension.Strikethrough,
			extension.TaskList),
		goldmark.WithRendererOptions(append(options, renderer.WithNodeRenderers(util.Prioritized(
			extension.NewFootnoteHTMLRenderer(extension.WithFootnoteIDPrefixFunction(notePrefix)), 500)))...))
}

var (
	// scheme is that of an address, after a character that is not part of a word.
	scheme = regexp.MustCompile(`(?:^|[^\pL\pN])((?i:https?))$`)
	// hierarchy is the rest of an address after its scheme.
	hierarchy = regexp.MustCompile("^://[^\\s<>\"`|\\\\^{}]+")
	// language is the text that may follow a fence: the name of one, which can be a class, and any text after it.
	language = regexp.MustCompile(`^[A-Za-z0-9+_.#-]{1,32}(?: |$)`)
	// outward matches addresses that lead out of the pages: to a web host, or into mail.
	outward = regexp.MustCompile(`^(?i:https?://[^/?#\\]|mailto:.)`)
)

// maxDepth is how deeply quotes, lists and footnotes nest. Deeper ones are shown as text. goldmark reads each line
// again for every block that contains it.
const maxDepth = 32

// shallow opens blocks down to maxDepth.
type shallow struct{ parser.BlockParser }

func (s shallow) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	depth := 0
	for n := parent; n != nil; n = n.Parent() {
		depth++
	}
	if depth > maxDepth {
		return nil, parser.NoChildren
	}
	return s.BlockParser.Open(parent, reader, pc)
}

// bareAddress makes links of web addresses in running text. goldmark's own parser finds only those after white space;
// people quote them, and put them after a colon of another script.
type bareAddress struct{}

func (bareAddress) Trigger() []byte { return []byte(":") }

func (bareAddress) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	line, at := block.PeekLine()
	before, ok := parent.LastChild().(*ast.Text)
	if !ok || before.Segment.Stop != at.Start || pc.IsInLinkLabel() {
		return nil
	}
	word := before.Value(block.Source())
	word = word[max(0, len(word)-len("https")-utf8.UTFMax):]
	m := scheme.FindSubmatch(word)
	if m == nil {
		return nil
	}
	rest := afterScheme(line)
	if rest == 0 {
		return nil
	}
	start := at.Start - len(m[1])
	before.Segment = before.Segment.WithStop(start)
	block.Advance(rest)
	return ast.NewAutoLink(ast.AutoLinkURL, ast.NewTextSegment(text.NewSegment(start, at.Start+rest)))
}

// afterScheme returns the length of an address after its scheme, without punctuation that ends a sentence.
func afterScheme(line []byte) int {
	rest := hierarchy.Find(line)
	for len(rest) > len("://") {
		last := rest[len(rest)-1]
		unopened := last == ')' && bytes.Count(rest, []byte("(")) < bytes.Count(rest, []byte(")"))
		if !unopened && strings.IndexByte("?!.,:*_~;']", last) < 0 {
			return len(rest)
		}
		rest = rest[:len(rest)-1]
	}
	return 0
}

// prefixKey is where the parser keeps the prefix of a text's footnote ids: two messages on one page, even with the
// same text, share none.
var prefixKey = parser.NewContextKey()

// prefixMeta is where the document keeps the prefix for rendering.
const prefixMeta = "prefix"

func notePrefix(n ast.Node) []byte { return n.OwnerDocument().Meta()[prefixMeta].([]byte) }

// tamer removes everything active from a document.
type tamer struct{}

func (tamer) Transform(doc *ast.Document, reader text.Reader, pc parser.Context) {
	doc.AddMeta(prefixMeta, pc.Get(prefixKey))
	tame(doc, reader.Source(), false)
}

// tame goes through the nodes below parent. A link contains no link.
func tame(parent ast.Node, source []byte, inLink bool) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if tamed := tameOne(parent, n, source, inLink); tamed != n {
			parent.ReplaceChild(parent, n, tamed)
			n = tamed
		}
		tame(n, source, inLink || n.Kind() == ast.KindLink)
	}
}

// tameOne returns the replacement of a node below parent: the node itself, or another.
func tameOne(parent, n ast.Node, source []byte, inLink bool) ast.Node {
	switch n := n.(type) {
	case *ast.Paragraph, *ast.Heading, *ast.Blockquote, *ast.List, *ast.ListItem, *extast.TableCell, *extast.Footnote:
		n.SetAttributeString("dir", "auto")
	case *ast.CodeBlock:
		copyable(parent, n)
	case *ast.FencedCodeBlock:
		if n.Info != nil && !language.Match(n.Info.Value(source)) {
			n.Info = nil
		}
		copyable(parent, n)
	case *extast.TaskCheckBox:
		return checkBox(n.IsChecked)
	case *extast.FootnoteLink:
		if inLink {
			return verbatim(fmt.Sprintf("[%d]", n.Index))
		}
	case *ast.AutoLink:
		return tameAddress(n, source, inLink)
	case *ast.Link:
		return link(n, n.Destination, inLink)
	case *ast.Image:
		what := "🖼 "
		if !n.HasChildren() {
			what += "image"
		}
		n.InsertBefore(n, n.FirstChild(), verbatim(what))
		return link(n, n.Destination, inLink)
	}
	return n
}

// link returns a link around the children of n, or only the children if the link must not lead anywhere.
func link(n ast.Node, to []byte, inLink bool) ast.Node {
	var out ast.Node = verbatim("")
	if !inLink && outward.Match(util.URLEscape(to, true)) {
		l := ast.NewLink()
		l.Destination = to
		out = elsewhere(l)
	}
	for n.HasChildren() {
		out.AppendChild(out, n.FirstChild())
	}
	return out
}

// tameAddress keeps an address in the text as a link where it may lead. Angle brackets around other text may be
// anything: <std::string> is an address too.
func tameAddress(n *ast.AutoLink, source []byte, inLink bool) ast.Node {
	switch {
	case n.AutoLinkType == ast.AutoLinkURL && !outward.Match(n.URL(source)):
		return verbatim("<" + string(n.Label(source)) + ">")
	case inLink:
		return verbatim(string(n.Label(source)))
	}
	return elsewhere(n)
}

// elsewhere makes a link open outside the page, without telling its target about the page.
func elsewhere(n ast.Node) ast.Node {
	n.SetAttributeString("target", "_blank")
	n.SetAttributeString("rel", "noopener noreferrer nofollow")
	return n
}

// copyable adds a button to a block of code that copies it, where scripts run.
func copyable(parent, code ast.Node) {
	parent.InsertBefore(parent, code, markup(
		`<div class="code-block"><button type="button" class="copy" data-copy>Copy<span class="hidden"> code</span>`+
			"</button>"))
	parent.InsertAfter(parent, code, markup("</div>\n"))
}

// checkBox is the box of a task, with a name for people who do not see it.
func checkBox(checked bool) ast.Node {
	if checked {
		return markup(`<input type="checkbox" disabled checked aria-label="done"> `)
	}
	return markup(`<input type="checkbox" disabled aria-label="to do"> `)
}

// markup is our own HTML.
func markup(s string) ast.Node {
	n := ast.NewString([]byte(s))
	n.SetCode(true) // written unchanged
	return n
}

// verbatim is text without any markup.
func verbatim(s string) ast.Node {
	n := ast.NewString([]byte(s))
	n.SetRaw(true)
	return n
}
