// Package notify tells the person of mail when no page is in sight: on the desktop, through ntfy, Telegram, a webhook,
// mail or a command.
//
// A Notifier has one line for each channel of the configuration. It follows every open room and offers each line what
// arrives for the user; which of it is worth telling, the line's filter says.
//
//   - What arrives within two seconds is told together, and what arrives within half a minute of the last note is
//     told together at its end: one letter is a note about it, more are a digest.
//   - Right before a note goes out each of its letters is looked at again. One that has been read, answered, archived
//     or withdrawn is left out; one that is snoozed waits until its time.
//   - In quiet hours nothing is told but, where that is allowed, what is urgent. The rest is one digest at their end.
//   - A note that did not get through is tried again after 10 s, 20 s, 40 s and so on, up to half an hour. After the
//     fifth failure the person finds a message of the system in the room, once a day at most.
//   - What was told is kept in a file, so that a restart tells nothing twice, and that a channel which is new is not
//     told of what came before it. A process that is killed between telling and writing tells again.
//
// What was told is also a receipt in the journal, so that whoever wrote sees that the person was notified.
//
// Through ntfy a question can be answered by its buttons (answers.go). A chat, which a code pairs, takes replies too
// (chat.go). Each kind of channel is a file, and each service of chats.
package notify
