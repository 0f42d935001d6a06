#!/usr/bin/env bash
# Runs the official MCP conformance suite: every server scenario except extensions, in both
# protocol eras.
#
#   scripts/conformance.sh        against the tests of mcpserver, which serve the fixtures that it needs
#   scripts/conformance.sh URL    against a server that is running
#
# Exits with 0 if only the failures of testdata/conformance-baseline.yml occurred. Needs
# Node 20 and npm, and the network the first time.
set -euo pipefail

version=0.2.0-alpha.12
revisions=(2025-11-25 2026-07-28)
root=$(cd "$(dirname "$0")/.." && pwd)
baseline=$root/internal/office/mcpserver/testdata/conformance-baseline.yml
cache=${XDG_CACHE_HOME:-$HOME/.cache}/pennypost-test/conformance-$version
suite=$cache/node_modules/@modelcontextprotocol/conformance/dist/index.js

die() {
	echo "conformance: $*" >&2
	exit 2
}

tmp=$(mktemp -d)
pid=
cleanup() {
	if [ -n "$pid" ]; then
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	fi
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

command -v node >/dev/null || die "node is not installed"

# Install the suite in a temporary directory and move it into place whole, so that the next
# run does not use a broken download.
if [ ! -f "$suite" ]; then
	mkdir -p "$(dirname "$cache")"
	new=$(mktemp -d "$cache.XXXXXX")
	npm install --prefix "$new" --no-audit --no-fund --loglevel=error \
		"@modelcontextprotocol/conformance@$version" || die "installing the suite failed"
	rm -rf "$cache"
	mv "$new" "$cache"
fi

# The suite imports fs.globSync, new in Node 22, for a command that is not used here. An older
# Node gets a substitute.
cat >"$tmp/glob.mjs" <<'JS'
import * as fs from 'node:fs';
import { register } from 'node:module';

const source = (text) => 'data:text/javascript,' + encodeURIComponent(text);
const withGlob = source(`
	export * from 'node:fs';
	export { default } from 'node:fs';
	export function globSync() { throw new Error('fs.globSync needs Node 22'); }`);
const hook = source(`
	export function resolve(name, context, next) {
		if (name === 'fs' && context.parentURL?.includes('/@modelcontextprotocol/conformance/')) {
			return { url: ${JSON.stringify(withGlob)}, shortCircuit: true };
		}
		return next(name, context);
	}`);
if (!fs.globSync) register(hook);
JS

url=${1:-}
if [ -z "$url" ]; then
	(cd "$root" && go test -c -o "$tmp/server" ./internal/office/mcpserver)
	port=$(node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close() })')
	PENNYPOST_SERVE_CONFORMANCE=127.0.0.1:$port "$tmp/server" >"$tmp/server.log" 2>&1 &
	pid=$!
	for _ in $(seq 100); do
		if (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
			url=http://127.0.0.1:$port/mcp
			break
		fi
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.1
	done
	if [ -z "$url" ]; then
		cat "$tmp/server.log" >&2
		die "the fixtures are not served on 127.0.0.1:$port"
	fi
fi

# tally prints the results of one run's checks, and those not passed. It fails if there were
# none.
tally() {
	node - "$1" "$2" <<'JS'
const fs = require('fs'), path = require('path');
const [dir, revision] = process.argv.slice(2);
const count = { SUCCESS: 0, FAILURE: 0, WARNING: 0, SKIPPED: 0 };
const remarks = [];
const runs = fs.existsSync(dir) ? fs.readdirSync(dir) : [];
for (const run of runs) {
	const scenario = run.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT.*$/, '');
	for (const c of JSON.parse(fs.readFileSync(path.join(dir, run, 'checks.json'), 'utf8'))) {
		if (c.status in count) count[c.status]++;
		if (c.status === 'FAILURE' || c.status === 'WARNING') {
			remarks.push(`  ${c.status.toLowerCase()}: ${scenario}: ${c.id}: ${c.errorMessage ?? ''}`);
		}
	}
}
console.log(`${revision}: ${runs.length} scenarios; checks: ${count.SUCCESS} passed, ${count.FAILURE} failed, ` +
	`${count.WARNING} warnings, ${count.SKIPPED} skipped`);
remarks.forEach((r) => console.log(r));
process.exit(runs.length === 0 ? 1 : 0);
JS
}

failed=
for revision in "${revisions[@]}"; do
	status=0
	node --import "$tmp/glob.mjs" "$suite" server --url "$url" --suite all --spec-version "$revision" \
		--expected-failures "$baseline" --output-dir "$tmp/$revision" >"$tmp/$revision.log" 2>&1 || status=$?
	tally "$tmp/$revision" "$revision" || status=1
	if [ "$status" -ne 0 ]; then
		failed="$failed $revision"
		tail -n 20 "$tmp/$revision.log" >&2
	fi
done

if [ -n "$failed" ]; then
	echo "conformance: FAILED in$failed" >&2
	exit 1
fi
echo "conformance: ok"
