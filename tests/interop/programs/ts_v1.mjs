// The TypeScript SDK 1.x: ts_v1.mjs URL FOLDER
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { report } from "./report.mjs";

const client = new Client({ name: "ts-v1", version: "1" }, { capabilities: { elicitation: {} } });
client.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept", content: { name: "Ada" } }));
await client.connect(new StreamableHTTPClientTransport(new URL(process.argv[2])));
await report(client, (name, given, options) => client.callTool({ name, arguments: given }, undefined, options));
