// BPE tokenizers of Hugging Face in JavaScript: hf_bpe's native core, as WebAssembly, with what a tokenizer.json says
// around it. See docs/how-to/use-in-the-browser.md.

import { Core, NO_ID } from "./core.js";
import { Normalizer } from "./normalization.js";
import { SPACE, UnsupportedTokenizerError, readPlan, refuse } from "./tokenizer_json.js";

export { UnsupportedTokenizerError };

const WHITE_SPACE = // White_Space of Unicode
  "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000";
const encoder = new TextEncoder();
const lenient = new TextDecoder("utf-8", { ignoreBOM: true });
const strict = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });

let compiled; // the module, for all tokenizers

/**
 * Returns the tokenizer in the content of a `tokenizer.json`.
 *
 * @param {string | ArrayBuffer | Uint8Array} tokenizerJson the content of the file.
 * @param {{wasm?: WebAssembly.Module | ArrayBuffer | Uint8Array}} [options] the module hf_bpe.wasm, where it is not next
 *   to this file.
 * @returns {Promise<Tokenizer>}
 * @throws {UnsupportedTokenizerError} the file asks for what is not supported here; the message names it.
 */
export async function load(tokenizerJson, { wasm } = {}) {
  const content = bytesOf(tokenizerJson);
  if (wasm !== undefined) {
    return new Tokenizer(wasm instanceof WebAssembly.Module ? wasm : await WebAssembly.compile(wasm), content);
  }
  compiled ??= compileFromHere().catch((error) => {
    compiled = undefined; // it may succeed the next time
    throw error;
  });
  return new Tokenizer(await compiled, content);
}

async function compileFromHere() {
  const url = new URL("hf_bpe.wasm", import.meta.url);
  if (url.protocol === "file:") {
    const { readFile } = await import("node:fs/promises");
    return WebAssembly.compile(await readFile(url));
  }
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
  return WebAssembly.compile(await response.arrayBuffer());
}

/** A tokenizer, which `load` makes. Its memory is that of a WebAssembly instance of its own. */
export class Tokenizer {
  #core;
  #plan;
  #normalizer;
  #added;

  constructor(module, content) {
    this.#core = new Core(module);
    const parse = (use) => {
      try {
        return use();
      } catch (error) {
        throw new SyntaxError(`not a tokenizer.json: ${error.message}`);
      }
    };
    parse(() => strict.decode(content)); // the core does not check that it is UTF-8
    const [rest, isOfText] = this.#core.readModel(content);
    const parsed = parse(() => JSON.parse(strict.decode(rest)));
    this.#plan = readPlan(parsed, isOfText, this.#core.vocabulary());
    this.#normalizer = new Normalizer(
      this.#plan.isOfCharacters ? null : this.#plan.form,
      this.#plan.isOfCharacters ? SPACE : null,
    );
    this.#added = new Set(this.#plan.tokens.map((token) => token.id));
    const searched = new Set();
    for (const token of this.#plan.tokens) {
      token.searched = token.flags & 2 ? this.#normalizer.apply(token.content) : token.content;
      if (searched.has(token.searched)) refuse(`added_tokens: ${token.content} becomes equal to another one`);
      searched.add(token.searched);
    }
    this.#core.makeEncoder(this.#plan);
  }

  /** The parts of the file that decide nothing here: padding and truncation. */
  get ignored() {
    return [...this.#plan.ignored];
  }

  /**
   * Returns the ids of a text.
   *
   * @param {string} text any string; a lone surrogate is read as U+FFFD.
   * @param {{addSpecialTokens?: boolean}} [options] whether to add the special tokens of the post-processor.
   * @returns {Uint32Array}
   */
  encode(text, { addSpecialTokens = true } = {}) {
    checkText(text);
    const rows = this.#normalizer.leaves(text)
      ? [this.#core.encode(encoder.encode(text), false, false)]
      : this.#parts(text).map(({ segment, id, isFirst }) =>
          id === undefined
            ? this.#core.encode(encoder.encode(this.#normalizer.apply(segment)), true, this.#continues(isFirst))
            : [id],
        );
    const { before, after } = this.#plan;
    return addSpecialTokens
      ? joined([before, ...rows, after])
      : rows.length === 1
        ? Uint32Array.from(rows[0])
        : joined(rows);
  }

  /**
   * Returns the ids of a text, and where in the text each comes from.
   *
   * @param {string} text as for `encode`; it must be in the normalization form of the model, if that has one.
   * @param {{addSpecialTokens?: boolean}} [options] as for `encode`.
   * @returns {{ids: Uint32Array, offsets: Uint32Array}} `offsets` has two numbers for each id: the beginning and end in
   *   UTF-16 code units, as `text.slice` takes them; 0 and 0 for tokens that the post-processor adds. An id with part of
   *   a character covers all of it.
   * @throws {UnsupportedTokenizerError} the text is not normalized.
   */
  offsets(text, { addSpecialTokens = true } = {}) {
    checkText(text);
    if (!this.#normalizer.keepsPlaces(text)) {
      refuse(
        `offsets: the text is not in ${this.#plan.form}, which the model is for; give text.normalize("${this.#plan.form}")`,
      );
    }
    const parts = this.#normalizer.leaves(text) ? [{ segment: text, start: 0 }] : this.#parts(text);
    const rows = [];
    const places = [];
    for (const { segment, id, start, end, isFirst } of parts) {
      if (id !== undefined) {
        rows.push([id]);
        places.push([start, end]);
        continue;
      }
      const isWhole = isFirst === undefined;
      const [ids, offsets] = this.#core.encodeWithOffsets(
        this.#normalizer.apply(segment),
        !isWhole,
        this.#continues(isFirst),
      );
      rows.push(ids);
      places.push(offsets.map((place) => place + start));
    }
    const ids = joined(rows);
    const offsets = joined(places);
    if (this.#plan.trim !== "no") this.#trim(text, ids, offsets);
    if (!addSpecialTokens) return { ids, offsets };
    const { before, after } = this.#plan;
    return {
      ids: joined([before, ids, after]),
      offsets: joined([new Uint32Array(2 * before.length), offsets, new Uint32Array(2 * after.length)]),
    };
  }

  /**
   * Returns the text of ids.
   *
   * @param {Iterable<number>} ids ids of tokens.
   * @param {{skipSpecialTokens?: boolean}} [options] whether to leave out special tokens.
   * @returns {string} with U+FFFD for what is not UTF-8.
   * @throws {RangeError} an id has no token.
   */
  decode(ids, { skipSpecialTokens = false } = {}) {
    const row = idsOf(ids);
    const bytes = this.#core.decode(row, skipSpecialTokens);
    if (!this.#plan.isOfCharacters) return lenient.decode(bytes);
    let text;
    try {
      text = strict.decode(bytes);
    } catch {
      text = this.#textOfRuns(row, skipSpecialTokens);
    }
    let start = 0;
    while (start < this.#plan.stripped && text[start] === " ") start++;
    return text.slice(start);
  }

  /** Returns the bytes of an id, which may be part of a character. */
  bytes(id) {
    return this.#core.decode(idsOf([id]), false);
  }

  /** Returns whether an id is that of an added token which is special. */
  isSpecial(id) {
    return this.#core.isSpecial(id);
  }

  // Whether a part of a text is not where the core may put a space.
  #continues(isFirst) {
    return isFirst === false && this.#plan.tellsStart === true;
  }

  // The parts of a text that is normalized: added tokens that are searched before that, and segments.
  #parts(text) {
    const data = encoder.encode(text);
    let [byte, unit] = [0, 0];
    const unitAt = (place) => {
      if (place < byte) [byte, unit] = [0, 0]; // tokens that strip white space may overlap
      unit += lenient.decode(data.subarray(byte, place)).length;
      byte = place;
      return unit;
    };
    return this.#core.split(data).map(([begin, end, id]) => {
      const start = unitAt(begin);
      if (id !== NO_ID) return { id, start, end: unitAt(end) };
      return { segment: lenient.decode(data.subarray(begin, end)), start, isFirst: begin === 0 };
    });
  }

  // Decodes byte tokens side by side, each of which is U+FFFD if they are not UTF-8 together.
  #textOfRuns(ids, skipSpecialTokens) {
    let text = "";
    let run = [];
    const finish = () => {
      try {
        text += strict.decode(Uint8Array.from(run));
      } catch {
        text += "\ufffd".repeat(run.length);
      }
      run = [];
    };
    for (const id of ids) {
      if (skipSpecialTokens && this.#core.isSpecial(id)) continue;
      const bytes = this.bytes(id);
      if (this.#core.isByte(id)) {
        run.push(bytes[0]);
        continue;
      }
      finish();
      text += strict.decode(bytes);
    }
    finish();
    return text;
  }

  // Leaves white space out of offsets, as the post-processor ByteLevel does; see `trimmed` in hf_bpe/encoding.
  #trim(text, ids, offsets) {
    const spacesOf = new Map();
    for (let i = 0; i < ids.length; i++) {
      let [begin, end] = [offsets[2 * i], offsets[2 * i + 1]];
      let spaces = spacesOf.get(ids[i]);
      if (this.#added.has(ids[i])) {
        spaces = spacesOfText(text.slice(begin, end));
      } else if (spaces === undefined) {
        spaces = spacesOfBytes(this.bytes(ids[i]));
        spacesOf.set(ids[i], spaces);
      }
      const [leading, trailing] = spaces;
      const isKept = (i === 0 || begin === 0) && this.#plan.trim === "all but a first space" && leading === 1;
      if (leading > 0 && !isKept) begin = Math.min(moved(text, begin, leading), end);
      const trimmed = moved(text, end, -trailing);
      if (trimmed >= 0) end = Math.max(trimmed, begin);
      [offsets[2 * i], offsets[2 * i + 1]] = [begin, end];
    }
  }
}

function bytesOf(content) {
  if (typeof content === "string") return encoder.encode(content);
  if (content instanceof ArrayBuffer) return new Uint8Array(content);
  if (ArrayBuffer.isView(content)) return new Uint8Array(content.buffer, content.byteOffset, content.byteLength);
  throw new TypeError(`tokenizerJson: expected the content of the file as string or bytes, got ${typeof content}`);
}

function checkText(text) {
  if (typeof text !== "string")
    throw new TypeError(`text: expected a string, got ${text === null ? "null" : typeof text}`);
}

function idsOf(ids) {
  if (ids instanceof Uint32Array) return ids;
  const given = [...ids];
  const row = Uint32Array.from(given);
  const wrong = given.findIndex((id, place) => id !== row[place]);
  if (wrong >= 0) throw new RangeError(`ids: expected integers from 0 on, got ${String(given[wrong])} at ${wrong}`);
  return row;
}

function joined(rows) {
  const all = new Uint32Array(rows.reduce((size, row) => size + row.length, 0));
  let at = 0;
  for (const row of rows) {
    all.set(row, at);
    at += row.length;
  }
  return all;
}

// The place some characters after another one, or before it, never inside a surrogate pair: an id whose bytes begin with
// the space that was put first may have only part of a character. -1 before the beginning.
function moved(text, place, characters) {
  const isPair = (at) => at >= 0 && text.codePointAt(at) > 0xffff;
  for (let i = 0; i < characters; i++) place += isPair(place) ? 2 : 1;
  for (let i = 0; i > characters && place >= 0; i--) place -= isPair(place - 2) ? 2 : 1;
  return place;
}

// How many white space characters are at the beginning and at the end of what an added token matched.
function spacesOfText(text) {
  const isSpace = (unit) => WHITE_SPACE.includes(unit);
  return outerSpaces([...text], isSpace);
}

// The same of the bytes of another token, where the printable form of a space is the only white space.
function spacesOfBytes(bytes) {
  return outerSpaces([...bytes], (byte) => byte === 0x20);
}

function outerSpaces(items, isSpace) {
  const first = items.findIndex((item) => !isSpace(item));
  if (first < 0) return [items.length, items.length];
  return [first, items.length - 1 - items.findLastIndex((item) => !isSpace(item))];
}
