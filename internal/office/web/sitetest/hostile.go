package sitetest

import (
	"html"
	"pennypost/internal/mail"
	"regexp"
	"strings"
	"testing"
)

// HostileNames are names that would do harm if they were not treated as text.
var HostileNames = []mail.Name{
	`<script>alert(1)</script>`, `" onmouseover="x`, `a/b//c`, `..`, `.`, `100% & more?#x`, "مرحبا بالعالم", "小克 🦊",
	`a, b`, `{{.}}`, `c:\d`,
}

// Attribute returns the value after start in a response.
func Attribute(t *testing.T, body, start string) string {
	t.Helper()
	_, rest, ok := strings.Cut(body, start)
	value, _, ok2 := strings.Cut(rest, `"`)
	if !ok || !ok2 {
		t.Fatalf("there is no %s in\n%s", start, body)
	}
	return html.UnescapeString(value)
}

// Ptr returns a pointer to a value.
func Ptr[T any](v T) *T { return &v }

// HostileText has the same as one text.
const HostileText = `<script>alert(1)</script>"'><img src=x onerror=alert(1)>`

// Hostile is text with markup, script and a template.
const Hostile = `"><img src=x onerror=alert(1)><script>alert(2)</script>{{.}}' --><b`

// Harmless fails the test if untrusted text became part of the page's markup.
func (a Answer) Harmless(t *testing.T) Answer {
	t.Helper()
	return a.Want(t, 200).Without(t, "<img src=x", "<script>alert", `"><img`, "<b\"", "javascript:")
}

// RowsOf returns the ids of the rows of a page, in order.
func RowsOf(shown string) (ids []string) {
	for _, m := range regexp.MustCompile(`class="row[^"]*" id="row-([^"]*)"`).FindAllStringSubmatch(shown, -1) {
		ids = append(ids, m[1])
	}
	return ids
}

// Link returns the value of an attribute in the element that begins with a text.
func Link(t *testing.T, shown, element, attribute string) string {
	t.Helper()
	_, rest, ok := strings.Cut(shown, element)
	tag, _, _ := strings.Cut(rest, ">")
	_, value, found := strings.Cut(tag, " "+attribute+`="`)
	if !ok || !found {
		t.Fatalf("there is no %s with %s in %s", element, attribute, shown)
	}
	value, _, _ = strings.Cut(value, `"`)
	return strings.ReplaceAll(value, "&amp;", "&")
}
