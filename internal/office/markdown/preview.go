package markdown

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// maxPreviewed is how many bytes of a text are read for its preview: more than a row shows, even after long addresses.
const maxPreviewed = 4 << 10

// tag is a tag or a comment of HTML. List<String> has none.
var tag = regexp.MustCompile(
	`(?is)<!--.*?(?:-->|$)|</?(?:a|abbr|b|big|blockquote|body|br|center|code|dd|del|details|` +
		`div|dl|dt|em|font|h[1-6]|head|hr|html|i|img|ins|kbd|li|mark|ol|p|pre|q|s|samp|script|small|` +
		`span|strike|strong|style|sub|summary|sup|table|tbody|td|tfoot|th|thead|tr|tt|u|ul|var)(?:\s[^<>]*)?/?>`)

// Preview returns the beginning of a message: one line without Markdown and HTML tags, cut to most characters, after a
// word where possible. Dots separate blocks, such as items of a list and cells of a table. It is "" if the text has no
// words.
func Preview(body string, most int) string {
	source := []byte(readable(body[:min(len(body), maxPreviewed)]))
	p := previewer{source: source, most: most}
	_ = ast.Walk(message().Parser().Parse(text.NewReader(source)), p.node) // p.node returns no error
	p.end()
	return cut(p.out.String(), most)
}

// previewer collects the words of a text, block by block.
type previewer struct {
	source []byte
	most   int
	out    strings.Builder
	block  strings.Builder // the current block
}

func (p *previewer) node(n ast.Node, entering bool) (ast.WalkStatus, error) {
	if n.Type() == ast.TypeBlock {
		if p.end(); p.out.Len() > p.most*utf8.UTFMax {
			return ast.WalkStop, nil
		}
	}
	if !entering {
		return ast.WalkContinue, nil
	}
	switch n := n.(type) {
	case *extast.FootnoteList, *extast.FootnoteLink:
		return ast.WalkSkipChildren, nil
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		p.code(n.Lines().Value(p.source))
	case *ast.CodeSpan:
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			p.code(c.(*ast.Text).Value(p.source))
		}
		return ast.WalkSkipChildren, nil
	case *ast.AutoLink:
		p.block.Write(n.Label(p.source))
	case *ast.String:
		if !n.IsCode() { // our own markup
			p.block.Write(n.Value)
		}
	case *ast.Text:
		p.block.Write(util.ResolveEntityNames(util.ResolveNumericReferences(
			util.UnescapePunctuations(n.Value(p.source)))))
		if n.SoftLineBreak() || n.HardLineBreak() {
			p.block.WriteByte('\n')
		}
	}
	return ast.WalkContinue, nil
}

// angle replaces "<" in code, where it begins no tag. It is not a character of a text.
const angle = "\x00"

func (p *previewer) code(text []byte) {
	p.block.WriteString(strings.ReplaceAll(string(text), "<", angle))
}

// end appends the current block to the others.
func (p *previewer) end() {
	line := tag.ReplaceAllString(p.block.String(), " ")
	p.block.Reset()
	words := strings.FieldsFunc(strings.ReplaceAll(line, angle, "<"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	})
	if len(words) == 0 {
		return
	}
	if before, _ := utf8.DecodeLastRuneInString(p.out.String()); strings.ContainsRune(".:;,!?…。：；，！？", before) {
		p.out.WriteByte(' ')
	} else if p.out.Len() > 0 {
		p.out.WriteString(" · ")
	}
	p.out.WriteString(strings.Join(words, " "))
}

// cut shortens a line to most characters: after a word, if one ends in the last third.
func cut(line string, most int) string {
	runes := []rune(line)
	if len(runes) <= most {
		return line
	}
	to := most - 1
	for to > 0 && unicode.In(runes[to], unicode.M) { // no mark without its letter
		to--
	}
	for i := to; i > most*2/3; i-- {
		if unicode.IsSpace(runes[i]) {
			to = i
			break
		}
	}
	return strings.TrimRightFunc(string(runes[:to]), func(r rune) bool { return unicode.IsSpace(r) || r == '·' }) + "…"
}
