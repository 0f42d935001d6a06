package config

import "testing"

func TestAgentClient(t *testing.T) {
	for _, v := range []string{
		"CLAUDECODE=1", "CLAUDE_CODE_SESSION_ID=x", "CLAUDE_CODE_ENTRYPOINT=cli", "CODEX_SANDBOX=seatbelt",
		"CODEX_THREAD_ID=x",
		"CODEX_SANDBOX_NETWORK_DISABLED=1", "GEMINI_CLI=1", "GEMINI_SESSION_ID=x", "GEMINI_PROJECT_DIR=/x",
		"CURSOR_AGENT=1",
		"COPILOT_CLI=1", "OPENCODE=1", "OPENCODE_CLIENT=x", "PENNYPOST_AGENT=bob", "AI_AGENT=x",
	} {
		if _, found := AgentClient([]string{"A=b", v}); !found {
			t.Errorf("AgentClient(%s) finds nothing", v)
		}
	}
	for _, v := range []string{
		"", "CLAUDECODE=", "CLAUDE_CODE_USE_BEDROCK=1", "CLAUDE_CODE_SSE_PORT=1", "CLAUDE_CODE_OAUTH_TOKEN=x",
		"CLAUDE_CODE_MAX_OUTPUT_TOKENS=1",
		"CODEX_HOME=/x", "GEMINI_API_KEY=x", "GEMINI_MODEL=x", "OPENCODE_CONFIG=x", "OPENCODE_CONFIG_DIR=x",
		"COPILOT_MODEL=x", "PENNYPOST_ROOM=x", "GEMINI_SANDBOX=docker", "GEMINI_SYSTEM_MD=x",
		"GEMINI_TELEMETRY_ENABLED=1", "GEMINI_CLI_TRUST_WORKSPACE=true", "GEMINI_CLI_HOME=/x",
		"CLAUDE_CODE_EFFORT_LEVEL=high", "CLAUDE_CODE_SHELL_PREFIX=x", "CLAUDE_CODE_AUTO_CONNECT_IDE=1",
		"CODEX_RUST_LOG=x", "COPILOT_OFFLINE=true", "COPILOT_PROVIDER_TYPE=x", "OPENCODE_PERMISSION=x",
	} {
		if got, found := AgentClient([]string{v}); found {
			t.Errorf("AgentClient(%s) = %s, but people set that for themselves", v, got)
		}
	}
}
