// Package searchtest generates messages like those of agents, and words to search for, for tests and benchmarks.
package searchtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

// Corpus generates the same messages for the same seed. Word frequencies are as in a language (Zipf), a fifth of the
// messages is Chinese, and the words include names of functions and files, numbers and hashes.
type Corpus struct {
	rng   *rand.Rand
	words []string
	zipf  *rand.Zipf
	han   *rand.Zipf
}

// Words is the size of the vocabulary.
const Words = 60_000

// New returns a corpus.
func New(seed uint64) *Corpus {
	rng := rand.New(rand.NewPCG(seed, 1))
	c := &Corpus{rng: rng, zipf: rand.NewZipf(rng, 1.05, 2.7, Words-1), han: rand.NewZipf(rng, 1.1, 8, 3499)}
	seen := make(map[string]bool)
	for len(c.words) < Words {
		w := c.made(1 + min(2, int(math.Log10(float64(len(c.words)+30))/1.8)))
		if !seen[w] {
			seen[w] = true
			c.words = append(c.words, w)
		}
	}
	return c
}

// made generates a word of some syllables.
func (c *Corpus) made(syllables int) string {
	onsets := strings.Fields("- - b br c ch d d f g h j k l m n n p pr qu r r s s sh st t t th tr v w y z")
	vowels := strings.Fields("a a e e e i i o o u ai ea ee ou io")
	codas := strings.Fields("- - - - - - n r s t l d m ng st")
	var b strings.Builder
	for range syllables {
		b.WriteString(strings.Trim(onsets[c.rng.IntN(len(onsets))], "-") + vowels[c.rng.IntN(len(vowels))] +
			strings.Trim(codas[c.rng.IntN(len(codas))], "-"))
	}
	return b.String()
}

// Word returns the word of a rank, 0 for the most frequent.
func (c *Corpus) Word(rank int) string { return c.words[rank] }

// Han returns a Chinese word: two characters that are often together.
func (c *Corpus) Han() string {
	first := c.han.Uint64()
	return string(han(first)) + string(han((first*31+c.rng.Uint64N(4)*7)%3500))
}

func han(n uint64) rune { return rune(0x4E00 + n*5%20000) }

// Message generates the next message.
func (c *Corpus) Message() (subject, body string) {
	words := int(min(4000, math.Exp(c.rng.NormFloat64()*0.9+3.9))) // half have 50 or fewer, the mean is some 75
	if c.rng.IntN(5) == 0 {
		return c.chinese(3), c.chinese(words)
	}
	if c.rng.IntN(3) > 0 {
		subject = c.text(4)
	}
	return subject, c.text(words)
}

func (c *Corpus) chinese(words int) string {
	var b strings.Builder
	for i := range max(1, words) {
		switch {
		case c.rng.IntN(12) == 0:
			b.WriteString(" " + c.code() + " ")
		case i%9 == 8:
			b.WriteString("，")
		default:
			b.WriteString(c.Han())
		}
	}
	return b.String() + "。"
}

func (c *Corpus) text(words int) string {
	var b strings.Builder
	for i := range max(1, words) {
		w := c.words[c.zipf.Uint64()]
		switch c.rng.IntN(14) {
		case 0:
			w = c.code()
		case 1:
			w = strings.ToUpper(w[:1]) + w[1:]
		case 2:
			w += ","
		}
		b.WriteString(w)
		if i%12 == 11 {
			b.WriteString(".\n")
		} else {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

func (c *Corpus) code() string {
	a, b := c.words[c.zipf.Uint64()], c.words[c.zipf.Uint64()]
	switch c.rng.IntN(5) {
	case 0:
		return fmt.Sprintf("%s/%s.go:%d", a, b, c.rng.IntN(900))
	case 1:
		return fmt.Sprintf("%s%s()", a, strings.ToUpper(b[:1])+b[1:])
	case 2:
		return fmt.Sprintf("%07x", c.rng.Uint32()>>4)
	case 3:
		return fmt.Sprintf("%s_%s=%d", a, b, c.rng.IntN(100_000))
	}
	return fmt.Sprintf("msg_%011x%010x", c.rng.Uint64()>>20, c.rng.Uint64()>>24)
}
