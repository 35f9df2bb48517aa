// MB/s of build/web next to @huggingface/tokenizers and gpt-tokenizer, in one process of node:
//
//   npm install --prefix PEERS @huggingface/tokenizers gpt-tokenizer
//   node web/benchmark.mjs PEERS TOKENIZERS TEXTS
//
// TOKENIZERS has a folder with a tokenizer.json for each tokenizer, TEXTS english.txt and others with <|endoftext|>
// between documents. Each round takes documents that no round had before, so that no cache has seen them, and all
// libraries one after the other; their ids are compared. The figures are medians of rounds.

import { readFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";

import { load } from "../build/web/tokenizer.js";

const [peers, tokenizers, texts] = process.argv.slice(2);
if (texts === undefined) throw new Error("expected PEERS TOKENIZERS TEXTS");
const BYTES = 400_000; // of a round
const ROUNDS = 6; // of which the first warms up
const NAMES = ["gpt35turbo", "gptoss", "llama3_1", "qwen3", "deepseek_v3", "mistral_v0_1"];
const TEXTS = ["english", "code", "multilingual"];
const ENCODINGS = { gpt35turbo: "cl100k_base", gptoss: "o200k_base" }; // of gpt-tokenizer

const imported = (file) => import(pathToFileURL(path.resolve(peers, "node_modules", file)));
const huggingFace = await imported("@huggingface/tokenizers/dist/tokenizers.mjs");

const wasm = readFileSync(new URL("../build/web/hf_bpe.wasm", import.meta.url));
console.log(`hf_bpe.wasm: ${wasm.length} bytes, ${gzipSync(wasm, { level: 9 }).length} with gzip`);
console.log(`node ${process.version}`);

function* rounds(name) {
  const documents = readFileSync(path.join(texts, `${name}.txt`), "utf8").split("<|endoftext|>");
  for (let at = 0, round = 0; round < ROUNDS; round++) {
    const chosen = [];
    for (let size = 0; size < BYTES; at++) {
      chosen.push(documents[at]);
      size += Buffer.byteLength(documents[at]);
    }
    yield chosen;
  }
}

const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];

async function encoders(name) {
  const file = path.join(tokenizers, name, "tokenizer.json");
  const content = readFileSync(file);
  const start = performance.now();
  const ours = await load(content);
  const oursLoaded = performance.now();
  const parsed = JSON.parse(content);
  const theirs = new huggingFace.Tokenizer(parsed, {});
  const theirsLoaded = performance.now();
  console.log(
    `${name}: loaded in ${Math.round(oursLoaded - start)} ms, by @huggingface/tokenizers in ${Math.round(theirsLoaded - oursLoaded)} ms`,
  );
  const all = {
    hf_bpe: (text) => ours.encode(text, { addSpecialTokens: false }),
    "@huggingface/tokenizers": (text) => theirs.encode(text, { add_special_tokens: false }).ids,
  };
  if (name in ENCODINGS) {
    const { encode } = await imported(`gpt-tokenizer/esm/encoding/${ENCODINGS[name]}.js`);
    all["gpt-tokenizer"] = (text) => encode(text);
  }
  return all;
}

console.log(
  "| tokenizer | text | library | MB/s | hf_bpe is × as fast | documents with other ids |\n|---|---|---|---|---|---|",
);
for (const name of NAMES) {
  const all = await encoders(name);
  for (const text of TEXTS) {
    const speeds = Object.fromEntries(Object.keys(all).map((library) => [library, []]));
    const ratios = structuredClone(speeds);
    const differing = Object.fromEntries(Object.keys(all).map((library) => [library, 0]));
    let number = 0;
    for (const documents of rounds(text)) {
      const bytes = documents.reduce((size, each) => size + Buffer.byteLength(each), 0);
      const results = {};
      for (const [library, encode] of Object.entries(all)) {
        const start = performance.now();
        results[library] = documents.map(encode);
        const speed = bytes / 1e3 / (performance.now() - start);
        if (number > 0) {
          speeds[library].push(speed);
          ratios[library].push(speeds.hf_bpe.at(-1) / speed);
        }
      }
      number++;
      for (const library in all) {
        differing[library] += results[library].filter(
          (ids, i) => String([...ids]) !== String([...results.hf_bpe[i]]),
        ).length;
      }
    }
    for (const library in all) {
      console.log(
        `| ${name} | ${text} | ${library} | ${median(speeds[library]).toFixed(2)} | ${median(ratios[library]).toFixed(1)} | ${differing[library]} |`,
      );
    }
  }
}
