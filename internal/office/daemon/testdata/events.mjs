// Subscribes to events with @ai-sdk/mcp, and prints its output: one JSON object a line.
// node events.mjs URL TOKEN
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const [url, token] = process.argv.slice(2);
const sdk = await import(pathToFileURL(`${process.env.EVENTS_SDK}/node_modules/@ai-sdk/mcp/dist/index.js`));
const say = what => console.log(JSON.stringify(what));

const kept = new Map();
const store = {
  get: async key => kept.get(key),
  getById: async id => [...kept.values()].find(s => s.id === id),
  set: async s => void kept.set(s.key, s),
  update: async (key, part) => void kept.set(key, { ...kept.get(key), ...part }),
  delete: async key => void kept.delete(key),
};
const handle = sdk.experimental_createMCPEventWebhook({
  store,
  onEvent: async ({ event }) => say({ event }),
  onGap: async ({ gap }) => say({ gap }),
  onTerminated: async ({ termination }) => say({ terminated: termination.error }),
  onError: error => say({ error: String(error) }),
});
const server = createServer(async (req, res) => {
  const parts = [];
  for await (const part of req) parts.push(part);
  const answer = await handle(new Request(`http://${req.headers.host}${req.url}`, {
    method: req.method, headers: req.headers, body: Buffer.concat(parts),
  }));
  res.writeHead(answer.status, Object.fromEntries(answer.headers));
  res.end(Buffer.from(await answer.arrayBuffer()));
});
await new Promise(done => server.listen(0, '127.0.0.1', done));

const client = await sdk.createMCPClient({
  transport: { type: 'http', url, headers: { Authorization: `Bearer ${token}` } },
  experimental_events: { store },
});
const events = client.experimental_events;
say({ listed: (await events.list()).events.map(e => e.name) });
const subscribed = await events.subscribe({
  name: 'mail.arrived',
  arguments: { types: ['question'] },
  delivery: { mode: 'webhook', url: `http://127.0.0.1:${server.address().port}/`, allowInsecureLocalhost: true },
});
say({ subscribed });
for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'refresh') say({ refreshed: await events.refresh({ id: subscribed.id }) });
  if (line === 'unsubscribe') {
    await events.unsubscribe({ id: subscribed.id });
    say({ unsubscribed: kept.size });
  }
}
await client.close();
server.close();
