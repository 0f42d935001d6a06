package hook

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"pennypost/internal/base/durable"
	"pennypost/internal/base/jsonx"
)

// The transcript of Gemini CLI 0.61.0 has one JSON object per line: a message {"id":…,"timestamp":…,"type":"user",
// "gemini" or "info","content":…}, or {"$set":…}, which changes the state of the session: with "messages" it replaces
// all of them. The transcripts of subagents are beside it, in a directory named after the session.

// maxTranscript is how many bytes are read from the end of a transcript.
const maxTranscript = 16 << 20

// maxHead is how many bytes of a line are examined.
const maxHead = 256

// messageOf matches the beginning of a line with a message.
var messageOf = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\{"id":"[^"]*","timestamp":"[^"]*","type":"(\w+)","content":(.*)`)
})

// takenBack reports whether a transcript says that the person interrupted the newest turn, or that it was taken back
// because no answer came. It is false if the transcript cannot be read.
func takenBack(path string) bool {
	f, err := openTranscript(path, maxTranscript)
	if err != nil {
		return false
	}
	defer f.Close()
	back, cancelled := false, false
	lines := bufio.NewReaderSize(f, 64<<10)
	for begins := true; ; {
		part, isPrefix, err := lines.ReadLine()
		if err != nil {
			return back || cancelled
		}
		if begins {
			part = part[:min(len(part), maxHead)]
			back = bytes.HasPrefix(part, []byte(`{"$set":{"messages":`)) || back && !isMessage(part)
			cancelled = isCancel(part) || cancelled && !isPrompt(part)
		}
		begins = !isPrefix
	}
}

func isMessage(line []byte) bool {
	m := messageOf().FindSubmatch(line)
	return m != nil && string(m[1]) != "info"
}

// isPrompt reports whether a line begins a turn. Tool results do not.
func isPrompt(line []byte) bool {
	m := messageOf().FindSubmatch(line)
	return m != nil && string(m[1]) == "user" && bytes.HasPrefix(m[2], []byte(`[{"text":"`))
}

func isCancel(line []byte) bool {
	m := messageOf().FindSubmatch(line)
	return m != nil && string(m[1]) == "info" && bytes.HasPrefix(m[2], []byte(`"Request cancelled."`))
}

// openTranscript opens the file that a client named, at most that many bytes before its end. It opens regular files
// only, because the path is not to be trusted.
func openTranscript(path string, most int64) (*os.File, error) {
	f, err := durable.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() > most {
		_, err = f.Seek(-most, io.SeekEnd)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// subagentWrites reports whether a subagent of a session wrote to its transcript after the session wrote to its own:
// the session writes nothing while a subagent works.
func subagentWrites(path, session string) bool {
	own, err := os.Stat(path)
	if err != nil || strings.ContainsAny(session, `/\`) {
		return false
	}
	dir := filepath.Join(filepath.Dir(path), session)
	files, _ := os.ReadDir(dir) // missing in a session without subagents
	var last time.Time
	for _, f := range files {
		if info, err := f.Info(); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last.After(own.ModTime())
}

// The transcript of Qwen Code 0.15.10 has one JSON object per line too. A subagent's work is in no file; meanwhile the
// session's own transcript ends with the tool calls of its model.

// maxQwen is how many bytes are read from the end of its transcript, before and after each tool.
const maxQwen = 1 << 20

// asksFor reports whether the last output of the model of a Qwen Code session calls a tool. known is false if that
// cannot be told.
func asksFor(path, tool string) (asks, known bool) {
	f, err := openTranscript(path, maxQwen)
	if err != nil {
		return false, false
	}
	defer f.Close()
	var said struct {
		Type    string `json:"type"`
		Message struct {
			Parts []struct {
				Call struct {
					Name string `json:"name"`
				} `json:"functionCall"`
			} `json:"parts"`
		} `json:"message"`
	}
	for lines := bufio.NewReader(f); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return asks, known
		}
		if head := line[:min(len(line), maxHead)]; !bytes.Contains(head, []byte(`"type":"assistant"`)) {
			continue
		}
		said.Message.Parts = nil
		if jsonx.UnmarshalLenient(line, &said) != nil || said.Type != "assistant" {
			continue
		}
		asks, known = false, true
		for _, p := range said.Message.Parts {
			asks = asks || p.Call.Name == tool
		}
	}
}
