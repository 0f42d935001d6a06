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

// Message renders mail, in which a line break is one: who writes a message wraps nothing, and means it. The id, any
// text, is no other's on the page. What is not UTF-8 comes out as U+FFFD.
func Message(text, id string) string { return convert(message(), text, id) }

// Document renders a file, in which a line break is white space: prose in files is wrapped at some column. (GitHub
// decides both as we do.) The id, any text, is no other's on the page. What is not UTF-8 comes out as U+FFFD.
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
		panic(err) // a strings.Builder takes everything
	}
	return out.String()
}

// readable is a text as UTF-8 without NULs, whose lines end as they do here.
func readable(text string) string {
	return strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00",
		"\uFFFD").Replace(strings.ToValidUTF8(text, string(utf8.RuneError)))
}

// tangled reports whether a text has so many links in the making that it is not worth reading. For each that begins,
// goldmark looks for the end of the address as far as the line goes; definitions it takes off a paragraph one by one.
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
	// scheme is that of an address, behind something that is no word.
	scheme = regexp.MustCompile(`(?:^|[^\pL\pN])((?i:https?))$`)
	// hierarchy is what follows it.
	hierarchy = regexp.MustCompile("^://[^\\s<>\"`|\\\\^{}]+")
	// language is what may follow a fence: the name of one, which can be a class, and anything behind it.
	language = regexp.MustCompile(`^[A-Za-z0-9+_.#-]{1,32}(?: |$)`)
	// outward are the addresses that lead out of the pages: to a host of the web, or into mail.
	outward = regexp.MustCompile(`^(?i:https?://[^/?#\\]|mailto:.)`)
)

// maxDepth is how deeply quotes, lists and footnotes nest. What is below is shown as text. goldmark reads each line
// again for every block that it is in.
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

// bareAddress makes links of addresses of the web in running text. goldmark's own parser of them finds those behind
// white space only; people quote them, and put them behind a colon of another script.
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

// afterScheme returns the length of an address behind its scheme; what ends a sentence is no part of it.
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

// prefixKey is where the reading of a text keeps what begins the ids of its footnotes: two messages on one page, which
// may say the same, do not share any.
var prefixKey = parser.NewContextKey()

// prefixMeta is where the text keeps it for its rendering.
const prefixMeta = "prefix"

func notePrefix(n ast.Node) []byte { return n.OwnerDocument().Meta()[prefixMeta].([]byte) }

// tamer takes out of a document what could do something.
type tamer struct{}

func (tamer) Transform(doc *ast.Document, reader text.Reader, pc parser.Context) {
	doc.AddMeta(prefixMeta, pc.Get(prefixKey))
	tame(doc, reader.Source(), false)
}

// tame goes through what stands below parent. A link holds no link.
func tame(parent ast.Node, source []byte, inLink bool) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if tamed := tameOne(parent, n, source, inLink); tamed != n {
			parent.ReplaceChild(parent, n, tamed)
			n = tamed
		}
		tame(n, source, inLink || n.Kind() == ast.KindLink)
	}
}

// tameOne returns what is to stand for a node below parent: the node itself, or another.
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

// link is a link that shows what stands below n, or that alone if it may not lead anywhere.
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

// tameAddress leaves an address in the text a link where it may lead. Angle brackets around another may be anything:
// <std::string> is an address too.
func tameAddress(n *ast.AutoLink, source []byte, inLink bool) ast.Node {
	switch {
	case n.AutoLinkType == ast.AutoLinkURL && !outward.Match(n.URL(source)):
		return verbatim("<" + string(n.Label(source)) + ">")
	case inLink:
		return verbatim(string(n.Label(source)))
	}
	return elsewhere(n)
}

// elsewhere has a link open outside of the page, and tell nobody of it.
func elsewhere(n ast.Node) ast.Node {
	n.SetAttributeString("target", "_blank")
	n.SetAttributeString("rel", "noopener noreferrer nofollow")
	return n
}

// copyable puts a button beside a block of code that copies it, where scripts run.
func copyable(parent, code ast.Node) {
	parent.InsertBefore(parent, code, markup(
		`<div class="code-block"><button type="button" class="copy" data-copy>Copy<span class="hidden"> code</span>`+
			"</button>"))
	parent.InsertAfter(parent, code, markup("</div>\n"))
}

// checkBox is the box of a task, with a name for whoever does not see it.
func checkBox(checked bool) ast.Node {
	if checked {
		return markup(`<input type="checkbox" disabled checked aria-label="done"> `)
	}
	return markup(`<input type="checkbox" disabled aria-label="to do"> `)
}

// markup is HTML of ours.
func markup(s string) ast.Node {
	n := ast.NewString([]byte(s))
	n.SetCode(true) // written as it is
	return n
}

// verbatim is text in which nothing means anything.
func verbatim(s string) ast.Node {
	n := ast.NewString([]byte(s))
	n.SetRaw(true)
	return n
}
