package demoday

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"pennypost/internal/mail"
)

// move is an agent's next message in Life.
type move struct {
	who    mail.Name
	as, re string // its label, and the label of the message it answers
	task   *string
	draft  mail.Draft
	done   chan mail.ID
}

// volumes are the volumes left to read.
func volumes() []struct{ letter, where, oddity string } {
	return []struct{ letter, where, oddity string }{
		{"C", "the Skagerrak", "A light on a moored ship: it has a position, and on Sundays another one."},
		{"D", "the Channel",
			"`Mo(U)` stands for *you are standing into danger*. That letter was chosen with care."},
		{"E", "the Bay of Biscay", "Cordouan is older than the table that lists it, by some three hundred years."},
		{"F", "the Gulf of Finland", "Names in three languages, and the three do not always mean the same rock."},
		{"G", "the Adriatic", "*Fl W 3s (fishing)*: lit when the boats are out, but no table says when."},
		{"H", "the Aegean", "Two islands of one name with one character. Only the range tells them apart."},
	}
}

// moves are about half an hour of work at the default pace.
func moves() []move {
	chance := rand.New(rand.NewPCG(1855, 2))
	say := func(who mail.Name, to string, kind mail.Type, as, re, subject, body string) move {
		return move{who: who, as: as, re: re, draft: mail.Draft{To: mail.Recipients{to}, Type: string(kind),
			Subject: subject, Body: body, Issue: "LH-24"}}
	}
	with := func(m move, task string) move {
		m.task = &task
		return m
	}
	const boss, builder, writer = mail.Orchestrator, mail.Name("builder-1"), mail.Name("docs-writer")
	out := []move{
		say(builder, string(boss), mail.Status, "", "", "35 of 38", "Fog signals now have their own kind."),
		say(writer, "concern:feed", mail.Status, "", "", "",
			"The page on fog signals has its first sentence: *a horn is not a light*."),
		with(say(builder, string(boss), mail.TaskDone, "done", "", "The notes of volume B are done",
			"38 of 38. Overlaps are untouched, as agreed."), ""),
	}
	for i, v := range volumes() {
		volume := "Volume " + v.letter
		all := 1400 + chance.IntN(1500)
		half, left := all/3+chance.IntN(all/4), 20+chance.IntN(60)
		issue := fmt.Sprintf("LH-%d", 30+i)
		round := []move{
			say(boss, string(builder), mail.TaskAssigned, "task", "done", volume+": "+v.where,
				"As with volume B: run it, sort the rest by reason, and leave overlaps alone."),
			with(say(builder, string(boss), mail.Status, "half", "task", "",
				fmt.Sprintf("On it. %d entries in %s.", all, v.where)), volume),
			say(builder, string(boss), mail.Status, "half", "half", fmt.Sprintf("%s: %d of %d", volume, half, all),
				"No new kinds of notes so far."),
			say(builder, "concern:parser", mail.Status, "", "", "", v.oddity),
			say(writer, string(builder), mail.Question, "ask", "", "A word on "+v.where+"?",
				"For the handbook: which light of "+volume+
					" would you show to a reader who has never seen a table of lights?"),
			say(builder, string(writer), mail.Answer, "", "ask", "",
				"The first one that the parser refused. It shows what a table is *for*."),
			with(say(builder, string(boss), mail.TaskDone, "done", "half",
				fmt.Sprintf("%s is read: %d of %d", volume, all-left, all),
				fmt.Sprintf("The rest:\n\n| reason | entries |\n|---|---:|\n| overlapping sectors | %d "+
					"|\n| bracketed notes | %d |", left/2, left-left/2)), ""),
			say(boss, string(mail.User), mail.Status, "", "done",
				fmt.Sprintf("%s is in: %.1f %%", volume, 100*float64(all-left)/float64(all)), "Kept word for word: "+
					fmt.Sprint(left)+" entries of "+v.where+"."),
			say(writer, string(boss), mail.Status, "", "", "", "The handbook now includes "+volume+"."),
		}
		for j := range round {
			round[j].draft.Issue = issue
		}
		out = append(out, round...)
	}
	return append(out, say(boss, string(mail.User), mail.TaskDone, "", "", "That is all for today",
		"Volumes A to H are done. The open items need you; nothing moves by itself from here."))
}

// replies are an agent's answers to the person's message m: one immediately, and perhaps one later.
func replies(m *mail.Message) (now mail.Draft, later *mail.Draft) {
	now = mail.Draft{To: mail.Recipients{string(mail.User)}, Type: string(mail.Status), ReplyTo: m.ID, Issue: m.Issue}
	if a := m.To[0]; a.Kind() == mail.ToTag {
		now.To = mail.Recipients{string(a)}
	}
	switch m.Type {
	case mail.Answer:
		now.Subject, now.Body = "Understood", "> "+gist(m)+"\n\nThat settles it, thank you. I will continue from "+
			"there."
	case mail.Question:
		now.Type, now.Subject = string(mail.Answer), "My guess"
		now.Body = "I am only a demo agent, so I know little. But I read your question, and this answer is as real " +
			"as any: it went through your post office, door and all."
	case mail.TaskAssigned, mail.ReviewRequest:
		now.Subject, now.Body = "On it", "> "+gist(m)+"\n\nI will tell you when it is done."
		done := now
		done.Type, done.Subject, done.Body = string(mail.TaskDone), "Done", "> "+gist(m)+
			"\n\nThis is done, as far as a demo can do things."
		later = &done
	case mail.Cancel:
		now.Subject, now.Body = "Stopped", "I have stopped. Nothing is left half done."
	default:
		now.Body = "> " + gist(m) + "\n\nI have read this and will keep it in mind."
	}
	return now, later
}

// gist is the subject or first line of a message.
func gist(m *mail.Message) string {
	text := m.Subject
	if text == "" {
		text, _, _ = strings.Cut(strings.TrimSpace(m.Body), "\n")
	}
	if words := []rune(text); len(words) > 120 {
		text = string(words[:120]) + "…"
	}
	return text
}
