package github

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
)

// maxText is how many bytes of an author's text are shown. The link has the rest.
const maxText = 16 << 10

func pullKey(repo string, number int) string {
	return strings.ToLower(repo) + "#" + strconv.Itoa(number)
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// idOf derives an id from words.
func idOf(words ...string) mail.ID {
	sum := sha256.Sum256([]byte(strings.ToLower(strings.Join(words, "\n"))))
	return mail.ID("github-" + hex.EncodeToString(sum[:16]))
}

var login = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}(\[bot\])?$`)
})

var mention = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[^\w@/.-])@([A-Za-z0-9][\w-]*)(/?)`) // a slash makes it a team
})

// mentions reports whether a text mentions one of names, in GitHub's syntax.
func mentions(text string, names []string) bool {
	for _, m := range mention().FindAllStringSubmatch(text, 1000) {
		who, team := m[1], m[2] != ""
		if !team && slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, who) }) {
			return true
		}
	}
	return false
}

// about names the subject of the news.
func (n *news) about() string {
	if n.pull > 0 {
		return n.repo + "#" + strconv.Itoa(n.pull)
	}
	return n.repo + " " + cmp.Or(n.branch, "of a fork")
}

// metadata is the content of metadata.github.
type metadata struct {
	Repo        string `json:"repo"`
	Pull        int    `json:"pull_request,omitzero"`
	Branch      string `json:"branch,omitempty"`
	Author      string `json:"author,omitempty"`
	Association string `json:"association,omitempty"`
	Check       string `json:"check,omitempty"`
	URL         string `json:"url,omitempty"`
}

// letter returns the message. To agents it is urgent, which wakes them, unless the opener of the pull request wrote
// it: an agent that answers a review with that account would wake itself.
func (n *news) letter(to []mail.Address, of known, now time.Time) (mail.Item, error) {
	author := n.who
	if author != "" && !login().MatchString(author) {
		author = "somebody"
	}
	says := line(n.says, 200)
	if author != "" {
		says += " by " + author
	}
	url := n.url
	if !strings.HasPrefix(url, "https://") || !mail.IsLine(url) || strings.ContainsAny(url, " <>\"`") ||
		len(url) > 1000 {
		url = ""
	}
	meta := map[string]any{mail.ViaGitHub: metadata{n.repo, n.pull, n.branch, author, line(n.rank, 40),
		line(n.check, 200), url}}
	m := mail.Message{ID: idOf(n.repo, n.id), Thread: idOf(n.repo, "thread", n.about()), Type: mail.Custom,
		From: mail.AgentAddress(mail.GitHub), To: to, Subject: line(n.about()+": "+says, mail.MaxSubject),
		Via: mail.ViaGitHub, Sent: mail.TimeOf(now)}
	if at := mail.TimeOf(n.at); n.at.Year() > 2000 && at < m.Sent {
		m.Sent = at
	}
	if n.verdict != "" {
		m.Type, meta["verdict"] = mail.ReviewResult, n.verdict
	}
	if to[0] != mail.ToUser && (n.who == "" || !strings.EqualFold(n.who, of.Opener)) {
		m.Priority = mail.Urgent
	}
	m.Body = n.body(says, of.Title, url)
	var err error
	m.Metadata, err = jsonx.Marshal(meta)
	return mail.Item{Message: m}, err
}

// body returns the text: a description of the event, followed by its author's text.
func (n *news) body(says, title, url string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", n.about(), says)
	if title != "" {
		fmt.Fprintf(&b, ", “%s”", line(title, 200))
	}
	if n.rank != "" {
		fmt.Fprintf(&b, " (%s)", strings.ToLower(line(n.rank, 40)))
	}
	if url != "" {
		b.WriteString("\n" + url)
	}
	if text := strings.TrimSpace(strings.ReplaceAll(n.text, "\x00", "\ufffd")); text != "" {
		b.WriteString("\n\n" + wording.Beginning(text, maxText))
		if len(text) > maxText {
			b.WriteString("\n\n[Continued at the link.]")
		}
	}
	return b.String()
}

// line turns foreign text into one line of at most n bytes.
func line(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
	return wording.Beginning(strings.Join(strings.Fields(s), " "), n)
}
