// Package outbox keeps mail on this machine while the way to its room is away, and sends it when the way is back.
//
// It owns one file, which it appends to and syncs before a letter is acknowledged as kept. It knows no room: how a
// letter is sent, and whether the way is there, it is told by its owner.
//
// # The file
//
// Each line is a JSON object that ends in its checksum, as the lines of a journal do. A letter is
//
//	{"letter":{"room":…,"key":…,"sender":{…},"draft":{…},"since":…,"why":…},"crc":"9a3f01c2"}
//
// and what became of it follows as
//
//	{"settled":{"room":…,"name":…,"key":…,"as":"sent"},"crc":"…"}
//
// where as is sent, refused (with why) or withdrawn. A letter that was refused stays until somebody has dismissed it.
// A last line without its end was acknowledged to nobody: it is cut. A line that cannot be read is left as it is, and
// counted. As soon as a letter is settled the file is written anew without it, so that its text is not left here.
//
// A crash between the send and its settling line has the letter sent again, with the same key: it is one message.
package outbox
