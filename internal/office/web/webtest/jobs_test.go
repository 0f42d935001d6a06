package webtest

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// job is a row of the table of jobs in docs/web.md: the most steps allowed, and the steps.
type job struct {
	most  int
	steps []string // keys and words to type, or labels to click
}

// jobs parses the table. Keys and words are in code, labels to click in italics.
func jobs(t *testing.T) map[string]job {
	t.Helper()
	text, err := os.ReadFile("../../../../docs/web.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "| job | at most | how |\n")
	if !ok {
		t.Fatal("docs/web.md has no table of jobs")
	}
	out := make(map[string]job)
	step := regexp.MustCompile("`([^`]+)`|\\*([^*]+)\\*")
	for line := range strings.Lines(table) {
		if strings.HasPrefix(line, "|---") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		if len(cells) != 3 {
			break
		}
		n, err := strconv.Atoi(strings.Fields(cells[1])[0])
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		j := job{most: n}
		for _, m := range step.FindAllStringSubmatch(cells[2], -1) {
			j.steps = append(j.steps, m[1]+m[2])
		}
		out[cells[0]] = j
	}
	return out
}

// steps returns the steps of a job. There must be no more of them than in the table, and no more than promised.
func steps(t *testing.T, name string, promised int) []string {
	t.Helper()
	j, ok := jobs(t)[name]
	if !ok || len(j.steps) == 0 || len(j.steps) > j.most || j.most > promised {
		t.Fatalf("the job %q is %+v in docs/web.md, want at most %d steps", name, j, promised)
	}
	return j.steps
}

// keys presses the keys of a job.
func (p *person) keys(steps []string) {
	p.t.Helper()
	for _, k := range steps {
		p.press(map[string]string{"Enter": "\r", "Delete": "\u007f"}[k] + strings.TrimSuffix(strings.TrimSuffix(k,
			"Enter"),
			"Delete"))
	}
}

// TestJobAnswer tests that two keys in the inbox answer a question, that this can be undone for five seconds, and
// that the next question gets the focus meanwhile.
func TestJobAnswer(t *testing.T) {
	r := newRoom(t)
	r.run("agents", "register", "builder-1", "--state", "idle")
	first := r.send("builder-1", "user", "Which port?", "--type", "question", "--metadata",
		`{"options":["8080","9090"]}`)
	second := r.send("builder-1", "user", "Which colour?", "--type", "question", "--metadata",
		`{"options":["red","blue"]}`)
	p := r.person(1280, 800)
	p.keys(steps(t, "answer a question", 2))
	p.sees(".toast", "Answered “8080” to builder-1")
	p.misses("#list .row", "Which port?")
	p.is(`document.querySelector("#needs .number").textContent === "1"`) // equals the number of rows
	p.focuses("#row-" + second)
	if got := r.run("--as", "builder-1", "inbox"); strings.Contains(got, "8080") {
		t.Errorf("the answer has left already: %s", got)
	}
	p.press("z")
	p.sees("#needs .row", "Which port?")
	p.focuses("#row-" + first)
	p.press("2")
	p.sees(".toast", "Answered “9090” to builder-1")
	r.until("--as", "builder-1", "9090")
	p.focuses("#row-" + second)
}

// until waits until an agent's inbox contains a text.
func (r *room) until(as, name, text string) {
	r.t.Helper()
	for end := time.Now().Add(patience); !strings.Contains(r.run(as, name, "inbox", "--all"), text); {
		if time.Now().After(end) {
			r.t.Fatalf("%s has not got %q", name, text)
		}
		time.Sleep(100 * time.Millisecond) // the undo time of five seconds
	}
}

// TestJobAnswerOpen tests that a digit answers an open letter and opens the next question, and that undo restores
// the letter with the typed text.
func TestJobAnswerOpen(t *testing.T) {
	r := newRoom(t)
	r.run("agents", "register", "builder-1", "--state", "idle")
	first := r.send("builder-1", "user", "Which port?", "--type", "question", "--metadata",
		`{"options":["8080","9090"]}`)
	r.send("builder-1", "user", "Which colour?", "--type", "question", "--metadata", `{"options":["red","blue"]}`)
	p := r.person(1280, 800)
	p.click("#row-" + first)
	p.sees("#letter", "Which port?")
	p.sees("#card button .stamp", "2")
	p.press("2")
	p.sees(".toast", "Answered “9090”")
	p.sees("#letter h1", "Which colour?") // the next one
	p.press("z")
	p.sees("#letter h1", "Which port?")
	p.press("r")
	p.focuses("#reply-text")
	p.press("Neither: 7070")
	p.ctrl("\r")
	p.sees(".toast", "Answered “Neither: 7070”")
	p.sees("#letter h1", "Which colour?")
	p.until(`document.querySelector(".toast [data-key=z]")`)
	p.press("\u001b") // leave the text
	p.press("z")
	p.sees("#letter h1", "Which port?")
	p.until(`document.getElementById("reply-text").value === "Neither: 7070"`)
	p.press("\u001b")
	p.click("#card button[value='8080']")
	p.sees("#letter h1", "Which colour?")
	p.press("1")
	p.sees("#card .pending", "red") // there is no next one, so the result is shown
	p.sees("#card .given", "You answered")
	r.until("--as", "builder-1", "8080")
}

// TestJobArchive tests that two keys archive twenty updates, with one toast and one undo.
func TestJobArchive(t *testing.T) {
	r := newRoom(t)
	r.run("agents", "register", "builder-1", "--state", "idle")
	r.fill(append(reports(20), letter{Subject: "A status"}, letter{Subject: "Another"})...)
	r.send("builder-1", "user", "Which port?", "--type", "question")
	p := r.person(1280, 800)
	p.until(`document.querySelectorAll("#updates .row").length === 21`) // the two status messages share one row
	p.keys(steps(t, "archive 20 updates", 4))
	p.sees(".toast", "Archived 22 messages")
	p.until(`!document.querySelector("#updates") && document.querySelectorAll("#needs .row").length === 1`)
	p.is(`document.querySelectorAll(".toast").length === 1`)
	p.press("z")
	p.until(`document.querySelectorAll("#updates .row").length === 21`)
	p.is(`!document.querySelector(".picked-row")`)
}

// TestJobFind tests that at most three words find a message of yesterday.
func TestJobFind(t *testing.T) {
	r := newRoom(t)
	yesterday := time.Now().AddDate(0, 0, -1).UTC()
	r.fill(letter{Type: "custom", Subject: "The parser is slow", Body: "It reads each line twice.", Sent: yesterday},
		letter{Type: "custom", Subject: "The parser is fast", Body: "It reads each line once."},
		letter{Type: "custom", Subject: "Lunch", Body: "At noon.", Sent: yesterday.Add(-time.Minute)})
	p := r.person(1280, 800)
	var words int
	for _, s := range steps(t, "find a message of yesterday", 3) {
		switch s {
		case "/":
			p.press(s)
			p.focuses("#search")
		case "Enter":
			p.press("\r")
		default:
			words += len(strings.Fields(s))
			p.press(s)
		}
	}
	if words == 0 || words > 3 {
		t.Errorf("it takes %d words, want at most 3", words)
	}
	p.until(`document.body?.dataset.place === "history" && document.readyState === "complete"`)
	p.sees("#rows .row", "The parser is slow")
	p.misses("#rows .row", "Lunch")
	p.misses("#rows .row", "The parser is fast")
}

// clickNamed clicks the first link or button whose text begins with name.
func (p *person) clickNamed(name string) {
	p.t.Helper()
	found := `[...document.querySelectorAll("a, button")].find((e) => e.checkVisibility() && e.innerText.trim().startsWith(` +
		quote(name) + `))`
	p.until("!!" + found)
	value[bool](p, `{ const e = `+found+`; e.scrollIntoView(); e.click(); true }`)
}

// TestJobUnstick tests that at most three clicks resume a paused agent.
func TestJobUnstick(t *testing.T) {
	r := newRoom(t)
	r.run("agents", "register", "builder-1", "--state", "idle")
	r.run("agents", "register", "builder-2", "--state", "frozen")
	r.send("builder-1", "builder-2", "Write the parser.", "--type", "task-assigned")
	p := r.person(1280, 800)
	for _, name := range steps(t, "unstick a paused agent", 3) {
		p.clickNamed(name)
	}
	p.misses("#stuck-groups", "frozen")
	for end := time.Now().Add(patience); strings.Contains(r.run("agents"), "frozen"); {
		if time.Now().After(end) {
			t.Fatal("the agent is frozen still")
		}
	}
}
