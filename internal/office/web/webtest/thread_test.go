package webtest

import (
	"fmt"
	"testing"
	"time"
)

// TestLongThreadEnds tests that a long thread ends with its last letter: hidden elements add no blank space.
func TestLongThreadEnds(t *testing.T) {
	r := newRoom(t)
	const root = "msg_thread0000000000000000"
	letters := []letter{{ID: root, Subject: "The parser", From: "agent:lead", To: []string{"agent:builder-1"},
		Type: "question", Body: "How far?"}}
	for i := range 40 {
		letters = append(letters, letter{ID: fmt.Sprintf("msg_thread%016d", i+1), Thread: root, ReplyTo: root,
			From: "agent:builder-1", To: []string{"agent:lead"}, Type: "status",
			Body: fmt.Sprintf("Part %d stands.", i)})
	}
	r.fill(letters...)
	p := r.person(1280, 800)
	for _, size := range [][2]int64{{1440, 900}, {1024, 768}, {390, 844}} {
		p.size(size[0], size[1])
		p.visit("/t/" + root)
		p.until(`document.querySelectorAll("#thread .post").length === 41`)
		time.Sleep(100 * time.Millisecond) // wait for the layout
		p.is(`document.querySelector("main").scrollHeight <= document.querySelector("main").clientHeight`)
		beyond := value[float64](p, `(() => {
			const t = document.getElementById("thread");
			const last = Math.max(...[...t.querySelectorAll(".post")].map((e) => e.getBoundingClientRect().bottom));
			return t.scrollHeight - (last - t.getBoundingClientRect().top + t.scrollTop);
		})()`)
		if beyond > 40 {
			t.Errorf("%d pixels wide, the thread goes on for %.0f pixels behind its last letter", size[0], beyond)
		}
		p.fits(fmt.Sprintf("a thread, %d pixels wide", size[0]))
	}
}

// TestAgentScrollsOnce tests that an agent's page has only one scrollbar: that of its mail.
func TestAgentScrollsOnce(t *testing.T) {
	r := newRoom(t)
	r.run("agents", "register", "builder-1", "--state", "idle", "--role", "builder", "--task", "the parser")
	var letters []letter
	for i := range 60 {
		letters = append(letters, letter{Subject: fmt.Sprintf("Report %d", i), Type: "custom", From: "agent:lead",
			To: []string{"agent:builder-1"}})
	}
	r.fill(letters...)
	p := r.person(1280, 800)
	for _, size := range [][2]int64{{1440, 900}, {1024, 768}, {390, 844}} {
		p.size(size[0], size[1])
		p.visit("/agents/builder-1")
		p.sees("#talk .post", "Report 59")
		got := value[string](p, `[...document.querySelectorAll("main, main *")].filter((e) => e.checkVisibility() &&
			e.scrollHeight > e.clientHeight + 1 && ["auto", "scroll"].includes(getComputedStyle(e).overflowY) &&
			e.tagName !== "TEXTAREA").map((e) => e.id || e.tagName).join(" ")`)
		if got != "talk" {
			t.Errorf("%d pixels wide, what scrolls is %q, want talk", size[0], got)
		}
	}
}
