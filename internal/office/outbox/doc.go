// Package outbox keeps mail on this machine while the way to its room is away, and sends it when the way is back.
//
// It owns one file. It appends a letter to the file and syncs it before it acknowledges the letter as kept. It knows
// no rooms: its owner provides how a letter is sent, and whether the way is there.
//
// # The file
//
// Each line is a JSON object that ends in its checksum, as the lines of a journal do. A letter is
//
//	{"letter":{"room":…,"key":…,"sender":{…},"draft":{…},"since":…,"why":…},"crc":"9a3f01c2"}
//
// and its outcome follows as
//
//	{"settled":{"room":…,"name":…,"key":…,"as":"sent"},"crc":"…"}
//
// where as is sent, refused (with why) or withdrawn. A refused letter stays until it is dismissed. A last line without
// a line feed was never acknowledged: it is cut. A line that cannot be read is left as it is, and counted. As soon as
// a letter is settled the file is rewritten without it, so that its text is not left here.
//
// After a crash between the send and its settling line the letter is sent again, with the same key: it is one message.
package outbox
