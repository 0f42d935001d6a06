// Package notify tells the person of mail when no page is open: on the desktop, through ntfy, Telegram, a webhook,
// mail or a command.
//
// A Notifier has one line for each configured channel. It follows every open room and offers new mail for the user
// to each line, whose filter decides what to send.
//
//   - Letters within two seconds are sent together, and letters within half a minute of the last note are sent
//     together at its end: one letter is a note about it, several are a digest.
//   - Right before a note is sent, each of its letters is checked again. A letter that was read, answered, archived or
//     withdrawn is left out; a snoozed one waits until its time.
//   - In quiet hours nothing is sent except, if allowed, urgent mail. The rest is one digest at their end.
//   - A note that fails is retried after 10 s, 20 s, 40 s and so on, up to half an hour. After the fifth failure the
//     person finds a system message in the room, once a day at most.
//   - The letters sent are recorded in a file, so that a restart sends nothing twice and a new channel does not get
//     earlier mail. A process killed between sending and recording sends again.
//
// A sent letter also gets a receipt in the journal, so that its sender sees that the person was notified.
//
// With ntfy, buttons answer questions (answers.go). A chat, which a code pairs, also takes replies (chat.go). Each
// kind of channel is a file, and so is each chat service.
package notify
