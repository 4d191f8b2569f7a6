// The TypeScript SDK 2.x: ts_v2.mjs URL FOLDER default | auto
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { report } from "./report.mjs";

const negotiation = process.argv[4] === "auto" ? { versionNegotiation: { mode: "auto" } } : {};
const client = new Client(
  { name: "ts-v2", version: "1" },
  { capabilities: { elicitation: { form: {} } }, ...negotiation },
);
client.setRequestHandler("elicitation/create", () => ({ action: "accept", content: { name: "Ada" } }));
await client.connect(new StreamableHTTPClientTransport(new URL(process.argv[2])));
await report(client, (name, given, options) => client.callTool({ name, arguments: given }, options));
