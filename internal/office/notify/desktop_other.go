//go:build !unix

package notify

func desktopEnv(env []string) []string { return env }
