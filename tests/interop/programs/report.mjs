// What every TypeScript client is asked to do, and the report of it: one JSON object on standard output.
import { existsSync } from "node:fs";
import { join } from "node:path";

const PREFIX = "stall__";
const KILOBYTES = 400;
const [, , , folder] = process.argv;
const LIMIT_MS = 60_000;

const text = (result) => result.content.filter((b) => b.type === "text").map((b) => b.text).join("\n");

function must(holds, what) {
  if (!holds) throw new Error(JSON.stringify(what)?.slice(0, 400));
}

async function appears(path) {
  while (!existsSync(path)) await new Promise((resolve) => setTimeout(resolve, 20));
}

const checks = {
  list: async (client) => {
    const names = [];
    let cursor;
    do {
      const page = await client.listTools(cursor ? { cursor } : {});
      names.push(...page.tools.map((tool) => tool.name));
      cursor = page.nextCursor;
    } while (cursor);
    must(names.includes(PREFIX + "echo"), names);
  },
  call: async (client, call) => {
    const result = await call("echo", { text: "grüße 🙂" });
    must(text(result).includes("grüße 🙂") && !result.isError, result);
  },
  error: async (client, call) => {
    const result = await call("refuse", { reason: "closed today" });
    must(result.isError && text(result).includes("closed today"), result);
  },
  "wrong arguments": async (client, call) => {
    const result = await call("count", { to: "many" });
    must(result.isError && text(result).includes("/to"), result);
  },
  progress: async (client, call) => {
    const told = [];
    await call("count", { to: 5 }, { onprogress: (progress) => told.push(progress.progress) });
    must(told.join() === "1,2,3,4,5", told);
  },
  elicitation: async (client, call) => {
    const result = await call("greet", {});
    must(text(result).includes("Hello Ada") && !result.isError, result);
  },
  "big result": async (client, call) => {
    const result = await call("fill", { kilobytes: KILOBYTES });
    must(text(result).split("0123456789abcde").length > 64 * KILOBYTES, text(result).length);
  },
  cancel: async (client, call) => {
    const stop = new AbortController();
    const running = call("wait", { folder }, { signal: stop.signal }).catch(() => "cancelled");
    await appears(join(folder, "started"));
    stop.abort("enough");
    must((await running) === "cancelled", "an answer came after all");
    await appears(join(folder, "cancelled"));
  },
};

// `call` hides that the generations of the SDK take the options at different places.
export async function report(client, call) {
  const outcomes = {};
  for (const [name, check] of Object.entries(checks)) {
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error("no end in time")), LIMIT_MS);
    });
    try {
      await Promise.race([check(client, (tool, given, options) => call(PREFIX + tool, given, options)), late]);
      outcomes[name] = "ok";
    } catch (error) {
      console.error(name, error);
      outcomes[name] = String(error).slice(0, 400);
    } finally {
      clearTimeout(timer);
    }
  }
  console.log(JSON.stringify(outcomes));
  process.exit(0);
}
