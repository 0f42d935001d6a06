package codexdialogs

import (
	"slices"
	"strings"
)

// script returns the command that a command line makes a shell run, byte for byte, as Codex shows it: touch a for
// /bin/bash -lc 'touch a'. It returns every other command line unchanged.
func script(line string) string {
	words, ok := split(line)
	if !ok || len(words) != 3 || words[1] != "-lc" && words[1] != "-c" {
		return line
	}
	program := words[0][strings.LastIndexByte(words[0], '/')+1:]
	if !slices.Contains([]string{"bash", "sh", "zsh"}, program) {
		return line
	}
	return words[2]
}

// split splits a command line that Codex has quoted for a POSIX shell; false: it has more than quoted words.
func split(line string) (words []string, ok bool) {
	for line != "" {
		word, more := "", true
		for more {
			part, rest, ok := piece(line)
			if !ok {
				return nil, false
			}
			word, line = word+part, rest
			more = line != "" && line[0] != ' '
		}
		words = append(words, word)
		line = strings.TrimPrefix(line, " ")
	}
	return words, true
}

// plain are the characters without a meaning to a shell.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./+:@,"

// piece cuts the first part of a word: in one kind of quotes, or unquoted.
func piece(line string) (text, rest string, ok bool) {
	switch line[0] {
	case '\'':
		return strings.Cut(line[1:], "'")
	case '"':
		return inDoubleQuotes(line[1:])
	}
	n := len(line) - len(strings.TrimLeft(line, plain))
	return line[:n], line[n:], n > 0
}

// inDoubleQuotes cuts text in double quotes, in which the shell would replace nothing.
func inDoubleQuotes(line string) (text, rest string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '"':
			return b.String(), line[i+1:], true
		case '$', '`', '!':
			return "", "", false
		case '\\':
			if i++; i == len(line) || !strings.Contains("$`\"\\", line[i:i+1]) {
				return "", "", false
			}
		}
		b.WriteByte(line[i])
	}
	return "", "", false
}
