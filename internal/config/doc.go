// Package config says where a post office keeps its things, which room a command means, and how both are configured.
//
// Front and office read it, so that both find the same. It knows mail, policy and files, and asks no post office.
// Start at home.go for the data directory, file.go for config.toml, and place.go for the room and the agent that are
// meant in a directory. A section of config.toml is a struct with a check of what is wrong with it, and with rows for
// print.go; a room's own section lies over that of all rooms (over).
package config
