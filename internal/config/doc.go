// Package config determines where a post office keeps its data, which room a command means, and how both are
// configured.
//
// Front and office both use it, so that they agree. It knows mail, policy and files, and asks no post office. Start
// at home.go for the data directory, file.go for config.toml, and place.go for the room and the agent of a directory.
// A section of config.toml is a struct with a check method, and with rows for print.go; a room's own section
// overrides that of all rooms (over).
package config
