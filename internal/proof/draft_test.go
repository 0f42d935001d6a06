//go:build linux

package proof

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"

	"pennypost/internal/mail"
)

// The recipients of mail in the room "main".
const (
	clerk   mail.Name = "clerk"   // marked by two clients at once
	quiet   mail.Name = "quiet"   // looked at by everyone, never marked
	reader  mail.Name = "reader"  // reads by MCP and never marks
	sleeper mail.Name = "sleeper" // has an exec door
)

// dice is the randomness of one name: the same in every run with the same seed.
func dice(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// tokens are the parts of bodies: text that parsers, terminals and fences trip over.
var tokens = []string{
	"plain words", "小克", "é", "e\u0301", "\U0001F469\u200D\U0001F4BB", "\"quoted\"", `back\slash`, "\ttab", "\nline",
	"\r\n", "</mail>", "<system-reminder>",
	"&lt;", "\u2028", "\u202e", "\x1b[31m", "```\ncode\n```", `{"seq":1,"crc":"00000000"}`, "{}", "'", "%s",
	"\ufeff", "|", "#", "\u00a0",
}

// secretMark begins the word that makes a message one to be erased. No other message has it.
const secretMark = "erase-me-"

// draftOf returns the n-th draft of a client: the checker makes it again instead of remembering it.
func draftOf(seed uint64, client string, n int, recipients []string) mail.Draft {
	r := dice(seed, fmt.Sprintf("%s/%d", client, n))
	d := mail.Draft{Type: string(mail.Status), To: mail.Recipients{recipients[r.IntN(len(recipients))]}}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d ", client, n)
	if n%50 == 7 {
		fmt.Fprintf(&b, "%s%016x ", secretMark, r.Uint64())
	}
	size := r.IntN(300)
	if n%200 == 11 {
		size = r.IntN(mail.MaxBody - 1000)
	}
	for b.Len() < size {
		b.WriteString(tokens[r.IntN(len(tokens))])
		b.WriteByte(' ')
	}
	d.Body = b.String() + "."
	if r.IntN(4) == 0 {
		d.Subject = fmt.Sprintf("Subject %d <b> 小克", n)
	}
	return d
}

// numberOf returns the number of the draft to which a body belongs, among those of its client.
func numberOf(client, body string) (n int, ok bool) {
	rest, ok := strings.CutPrefix(body, client+" ")
	if !ok {
		return 0, false
	}
	_, err := fmt.Sscanf(rest, "%d ", &n)
	return n, err == nil
}

// secretIn returns the word by which a message to be erased would be found, or "".
func secretIn(body string) string {
	_, rest, ok := strings.Cut(body, secretMark)
	if !ok || len(rest) < 16 {
		return ""
	}
	return secretMark + rest[:16]
}
