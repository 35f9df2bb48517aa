// The functions of hf_bpe.wasm (see module.cpp), with values of JavaScript.

import { refuse } from "./tokenizer_json.js";

export const NO_ID = 0xffffffff;
const encoder = new TextEncoder();
const lenient = new TextDecoder("utf-8", { ignoreBOM: true });

/** An instance of the module, which has one tokenizer. */
export class Core {
  #exports;
  #failure;

  constructor(module) {
    const system = {};
    for (const { module: from, name } of WebAssembly.Module.imports(module)) {
      if (from !== "wasi_snapshot_preview1") continue;
      system[name] = () => {
        throw new Error(`it called ${name}, as it never should`);
      };
    }
    system.random_get = (address, size) => {
      crypto.getRandomValues(new Uint8Array(this.#exports.memory.buffer, address >>> 0, size));
      return 0;
    };
    system.fd_write = (_, parts, count) => this.#abort(parts, count);
    const imports = { hf_bpe: { fail: (message) => this.#fail(message) }, wasi_snapshot_preview1: system };
    this.#exports = new WebAssembly.Instance(module, imports).exports;
    this.#call("_initialize");
  }

  #fail(message) {
    const bytes = new Uint8Array(this.#exports.memory.buffer, message >>> 0);
    throw new Error(lenient.decode(bytes.subarray(0, bytes.indexOf(0))));
  }

  // What the C++ library writes to standard error before it aborts.
  #abort(parts, count) {
    const places = new Uint32Array(this.#exports.memory.buffer, parts >>> 0, 2 * count);
    const textOf = (i) => lenient.decode(new Uint8Array(this.#exports.memory.buffer, places[2 * i], places[2 * i + 1]));
    throw new Error(Array.from({ length: count }, (_, i) => textOf(i)).join(""));
  }

  // After an error nothing is known of the state of the instance.
  #call(name, ...given) {
    if (this.#failure !== undefined)
      throw new Error("the tokenizer has failed before; load it again", { cause: this.#failure });
    try {
      return this.#exports[name](...given);
    } catch (error) {
      this.#failure = error;
      throw new Error(`the native core failed: ${error.message}`, { cause: error });
    }
  }

  // Calls `use` with the address of a copy of bytes.
  #with(bytes, use) {
    const isPossible = bytes.byteLength < 2 ** 31; // numbers of the module have 32 bits
    const address = isPossible ? this.#call("allocate", bytes.byteLength) >>> 0 : 0;
    if (address === 0) throw new RangeError(`no memory for ${bytes.byteLength} bytes; expected shorter text`);
    new Uint8Array(this.#exports.memory.buffer).set(
      new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength),
      address,
    );
    const result = use(address, bytes.byteLength);
    this.#call("release", address);
    return result;
  }

  #numbers(name, size) {
    return new Uint32Array(this.#exports.memory.buffer, this.#call(name) >>> 0, size).slice();
  }

  #bytes() {
    return new Uint8Array(
      this.#exports.memory.buffer,
      this.#call("bytes") >>> 0,
      this.#call("bytes_size") >>> 0,
    ).slice();
  }

  // Returns the rest of a tokenizer.json, and whether tokens are text.
  readModel(content) {
    const form = this.#with(content, (...given) => this.#call("read_model", ...given));
    if (form === 0) {
      refuse(
        "model: expected vocab and merges as tokenizers writes them: UTF-8, nonempty tokens with distinct ids below " +
          "2**21, and distinct merges of tokens that make tokens",
      );
    }
    return [this.#bytes(), form === 2];
  }

  vocabulary() {
    const call = (name, token) => this.#with(encoder.encode(token), (...given) => this.#call(name, ...given));
    return {
      size: this.#call("vocabulary_size"),
      highest: this.#call("highest_id"),
      missingBytes: this.#call("missing_bytes"),
      id: (token) => {
        const id = call("vocabulary_id", token);
        return id < 0 ? undefined : id;
      },
      isInMerges: (token) => call("is_in_merges", token) !== 0,
    };
  }

  makeEncoder(plan) {
    for (const { id, flags, content, searched } of plan.tokens) {
      this.#with(encoder.encode(content), (...text) =>
        this.#with(encoder.encode(searched), (...other) => this.#call("add_token", id, flags, ...text, ...other)),
      );
    }
    const unknownId = plan.unknownId ?? NO_ID;
    if (plan.isOfCharacters) {
      this.#call(
        "make_character_encoder",
        plan.prefix,
        plan.splits,
        plan.hasByteTokens,
        unknownId,
        plan.fusesUnknown,
        plan.keepsSpaces,
      );
      return;
    }
    const isKnown = this.#with(encoder.encode(plan.pattern), (...name) =>
      this.#call("make_byte_encoder", ...name, plan.addsPrefixSpace, plan.ignoresMerges, unknownId),
    );
    if (!isKnown)
      throw new Error(`the core has no pattern ${plan.pattern}: tables.js and hf_bpe.wasm differ in version`);
  }

  encode(bytes, isSegment, continues) {
    const size = this.#with(bytes, (...text) => this.#call("encode", ...text, isSegment, continues));
    return this.#numbers("ids", size);
  }

  encodeWithOffsets(text, isSegment, continues) {
    const units = new Uint16Array(text.length);
    for (let i = 0; i < text.length; i++) units[i] = text.charCodeAt(i);
    const size = this.#with(units, (address) =>
      this.#call("encode_with_offsets", address, units.length, isSegment, continues),
    );
    return [this.#numbers("ids", size), this.#numbers("places", 2 * size)];
  }

  split(bytes) {
    const size = this.#with(bytes, (...text) => this.#call("split", ...text));
    const numbers = this.#numbers("places", 3 * size);
    return Array.from({ length: size }, (_, i) => numbers.subarray(3 * i, 3 * i + 3));
  }

  decode(ids, skipsSpecial) {
    const done = this.#with(ids, (address) => this.#call("decode", address, ids.length, skipsSpecial));
    if (done !== ids.length) throw new RangeError(`${ids[done]} at ${done} is the id of no token`);
    return this.#bytes();
  }

  isSpecial(id) {
    return this.#call("is_special", id) !== 0;
  }

  isByte(id) {
    return this.#call("is_byte", id) !== 0;
  }
}
