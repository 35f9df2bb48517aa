// Requests to the server, which _requests.py answers.

export class Refused extends Error {}

/** Refuse what has more bytes than a request may have. */
export function checkSize(bytes) {
  if (bytes > limits.maxBytes) {
    throw new Refused(
      `This is ${megabytes(bytes)}, more than the ${megabytes(limits.maxBytes)} that can be shown here. ` +
      "For longer text: hf-bpe show TOKENIZER FILE.");
  }
}

async function post(name, request) {
  const body = new Blob([JSON.stringify(request)]);
  checkSize(body.size);
  let response;
  try {
    response = await fetch(name, {method: "POST", headers: {"Content-Type": "application/json"}, body});
  } catch {
    throw new Refused("The server does not answer. If it has been ended, start the playground again and open its new address.");
  }
  if (!response.ok) {
    const answer = await response.json().catch(() => ({error: response.statusText}));
    throw new Refused(answer.error);
  }
  return response;
}

const limits = {maxBytes: Infinity};

function megabytes(bytes) {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}

export function maxBytes() {
  return limits.maxBytes;
}

/** The tokenizers: name, and whether it adds special tokens. */
export async function describe() {
  const answer = await (await post("describe", {})).json();
  limits.maxBytes = answer.max_bytes;
  return answer.tokenizers;
}

/** Encode a text; tokens are likely to be new at the caret. A result is an error, or has the ids and how to divide them. */
export async function encode(text, recognize, add, caret) {
  return unpacked(await post("encode", {text, special_tokens: recognize, add_special_tokens: add, caret}));
}

/** Encode a chat as each tokenizer's template renders it. */
export async function chat(messages, generation) {
  return unpacked(await post("chat", {messages, add_generation_prompt: generation}));
}

/** What is shown of tokens. */
export async function tokens(tokenizer, ids) {
  return (await post("tokens", {tokenizer, ids})).json();
}

/** The merge tree of a token as a list of nodes with depths. */
export async function tree(tokenizer, id) {
  return (await post("tree", {tokenizer, id})).json();
}

async function unpacked(response) {
  const buffer = await response.arrayBuffer();
  const size = new DataView(buffer).getUint32(0, true);
  const results = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, size)));
  let start = 4 + size;
  for (const result of results) {
    if ("error" in result) continue;
    result.ids = new Uint32Array(buffer, start, result.tokens);
    start += 4 * result.tokens;
  }
  return results;
}
