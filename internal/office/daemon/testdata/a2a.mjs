// Uses the A2A door as foreign programs do, with the protocol's own SDK. It writes a line of JSON for each result; the
// test, which is the agent, answers.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [sdk, rooms, token] = process.argv.slice(2);
const resolve = createRequire(sdk + "/").resolve;
const load = (name) => import(pathToFileURL(resolve(name)).href.replace(/\.cjs$/, ".js"));
const { Client, ClientFactory, JsonRpcTransportFactory, DefaultAgentCardResolver } = await load("@a2a-js/sdk/client");
const { Role, TaskState } = await load("@a2a-js/sdk");

const tell = (what, more) => console.log(JSON.stringify({ what, ...more }));
const authorized = (url, init = {}) => {
  const headers = new Headers(init.headers);
  headers.set("Authorization", "Bearer " + token);
  return fetch(url, { ...init, headers });
};
const factory = new ClientFactory({
  transports: [new JsonRpcTransportFactory({ fetchImpl: authorized })],
  cardResolver: new DefaultAgentCardResolver({ fetchImpl: authorized }),
});
const card = "/.well-known/agent-card.json";
const client = await factory.createFromUrl(rooms + "/agents/builder-1" + card, "");
const room = await factory.createFromUrl(rooms + card, "");
tell("card", { name: (await client.getAgentCard()).name, skills: (await room.getAgentCard()).skills.map((s) => s.id) });

const message = (text, more = {}) => ({
  tenant: "", metadata: {}, configuration: { acceptedOutputModes: [], returnImmediately: true },
  message: {
    messageId: crypto.randomUUID(), role: Role.ROLE_USER, contextId: "", taskId: "", extensions: [], metadata: {},
    referenceTaskIds: [], parts: [{ content: { $case: "text", value: text }, metadata: {}, filename: "", mediaType: "" }],
    ...more,
  },
});
const taskOf = (result) => result.task ?? result.payload?.value ?? result;
const state = (task) => TaskState[task.status.state] ?? task.status.state;

// a task that is answered while it is followed
const sent = taskOf(await client.sendMessage(message("Build it")));
tell("sent", { id: sent.id, state: state(sent) });
const told = [];
for await (const event of client.resubscribeTask({ id: sent.id, tenant: "" })) {
  const { $case: kind, value } = event.payload ?? event;
  told.push(kind === "artifactUpdate" ? "artifact" : state(value));
  tell("event", { id: sent.id, kind, state: kind === "artifactUpdate" ? "artifact" : state(value) });
  if (kind === "statusUpdate" && state(value) === "TASK_STATE_INPUT_REQUIRED") {
    await client.sendMessage(message("Red", { taskId: sent.id }));
  }
}
const done = await client.getTask({ id: sent.id, tenant: "" });
tell("done", { id: sent.id, state: state(done), result: done.artifacts[0].parts[0].content.value, told });

// a task to a skill, streamed from the beginning, and then cancelled
const skilled = message("Paint it", { metadata: { skill: "role:builder" } });
for await (const event of room.sendMessageStream(skilled)) {
  const { $case: kind, value } = event.payload ?? event;
  if (kind === "task") {
    const config = await room.createTaskPushNotificationConfig({
      taskId: value.id, id: "mine", url: "http://127.0.0.1:1/", token: "t", tenant: "",
    });
    const list = await room.listTaskPushNotificationConfig({ taskId: value.id, tenant: "", pageSize: 0, pageToken: "" });
    await room.deleteTaskPushNotificationConfig({ taskId: value.id, id: "mine", tenant: "" });
    tell("push", { id: config.id, all: list.configs.length });
    await room.cancelTask({ id: value.id, tenant: "", metadata: {} });
  } else {
    tell("canceled", { state: state(value) });
  }
}
const list = await room.listTasks({ tenant: "", contextId: "", pageSize: 10, pageToken: "", status: 0 });
tell("list", { all: list.totalSize });
for (const wrong of ["msg_nothing", ""]) {
  await client.getTask({ id: wrong, tenant: "" }).then(
    () => tell("wrong", { error: "none" }), (err) => tell("wrong", { error: err.constructor.name }));
}
