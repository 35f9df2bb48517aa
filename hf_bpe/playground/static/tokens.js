// Tokens as elements. Text gets into the page as text nodes only; what is invisible in it, the server replaces by signs.

import * as requests from "./requests.js";

const MAX_AT_ONCE = 5000; // ids in one request

/** What is known about the tokens of one tokenizer, asked for when it is needed. */
export class Vocabulary {
  #tokens = new Map();

  constructor(tokenizer) {
    this.tokenizer = tokenizer;
  }

  get(id) {
    return this.#tokens.get(id);
  }

  has(ids) {
    return ids.every((id) => this.#tokens.has(id));
  }

  /** Keep what the server tells of tokens. */
  add(tokens) {
    for (const token of tokens) {
      token.data = Uint8Array.from(token.bytes.match(/../g) ?? [], (byte) => parseInt(byte, 16));
      this.#tokens.set(token.id, token);
    }
  }

  async load(ids) {
    const unknown = [...new Set(ids)].filter((id) => !this.#tokens.has(id));
    for (let start = 0; start < unknown.length; start += MAX_AT_ONCE) {
      this.add(await requests.tokens(this.tokenizer, unknown.slice(start, start + MAX_AT_ONCE)));
    }
  }
}

export function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  const {role, ...others} = properties;
  if (role) made.setAttribute("role", role);
  Object.assign(made, others);
  made.append(...children);
  return made;
}

export const COLORS = 4; // of tokens.css
export const colorName = (number) => `c${number % COLORS}`;

/** Append the pieces of a token to an element, with line breaks after signs of newlines, but not at the end. */
export function appendPieces(parent, pieces, hasBreaks = false) {
  pieces.forEach(([text, isSign], number) => {
    if (!isSign) {
      parent.append(text);
      return;
    }
    const sign = document.createElement("i");
    sign.append(text);
    parent.append(sign);
    if (hasBreaks && text === "↵" && number < pieces.length - 1) parent.append(document.createElement("br"));
  });
  return parent;
}

/** Return the element of a token, and what follows it: a line break, or an opportunity for one. */
export function drawToken(token, color, showsIds) {
  const drawn = document.createElement("bdi");
  drawn.className = token.added ? `${colorName(color)} added` : colorName(color);
  drawn.setAttribute("role", "option");
  appendPieces(drawn, token.pieces, !showsIds);
  if (showsIds) drawn.append(element("small", {}, String(token.id)));
  const endsLine = showsIds ? token.data.includes(10) : token.data.at(-1) === 10;
  return [drawn, document.createElement(endsLine ? "br" : "wbr")];
}
