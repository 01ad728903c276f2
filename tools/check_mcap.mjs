// A recording of deploy in the readers that Foxglove uses: make check-mcap FILE=run.mcap
import { readFile } from "fs/promises";
import { McapIndexedReader } from "@mcap/core";
import { MessageReader } from "@foxglove/rosmsg2-serialization";
import { parse } from "@foxglove/rosmsg";

const bytes = await readFile(process.argv[2]);
const readable = {
  size: async () => BigInt(bytes.length),
  read: async (offset, n) => new Uint8Array(bytes.buffer, bytes.byteOffset + Number(offset), Number(n)),
};
const reader = await McapIndexedReader.Initialize({ readable });
const decoders = new Map();
const seen = {};
for await (const message of reader.readMessages()) {
  const channel = reader.channelsById.get(message.channelId);
  if (!decoders.has(channel.id)) {
    const schema = reader.schemasById.get(channel.schemaId);
    decoders.set(channel.id, new MessageReader(parse(new TextDecoder().decode(schema.data), { ros2: true })));
  }
  const fields = decoders.get(channel.id).readMessage(message.data);
  seen[channel.topic] ??= { messages: 0 };
  seen[channel.topic].messages++;
  seen[channel.topic].fields = Object.keys(fields).length;
  if (channel.topic === "tick" && fields.sent && !(fields.kd[0] > 0)) throw new Error("a command without damping");
}
const counted = Object.values(seen).reduce((sum, topic) => sum + topic.messages, 0);
if (counted !== Number(reader.statistics.messageCount)) throw new Error("the index and the messages disagree");
console.log(seen);
