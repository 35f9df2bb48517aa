// What is known about one token: id, bytes, place, and the merges that make it.

import * as requests from "./requests.js";
import {appendPieces, colorName, element} from "./tokens.js";

const DELAY = 80; // milliseconds that the pointer rests on a token before its merges are asked for

export class Details {
  #trees = new Map();
  #shown = null;
  #isKept = false;
  #timer = null;

  constructor(root, problem) {
    this.root = root;
    this.hint = root.firstElementChild;
    this.problem = problem;
  }

  /** Show the token that the pointer is on, unless another one is kept. */
  point(pane, index) {
    if (!this.#isKept) this.show(pane, index, false);
  }

  /** Show a token of a pane, and keep it when the pointer goes on. */
  show(pane, index, isKept) {
    const token = pane.tokenAt(index);
    if (token === undefined) return;
    this.#isKept = isKept;
    this.#shown = {pane, index};
    const facts = [
      ["id", String(token.id)],
      [token.data.length === 1 ? "byte" : "bytes", token.bytes.replace(/..(?=.)/g, "$& ")],
      ["in vocab.json", token.name],
      ["place", `${(index + 1).toLocaleString("en")} of ${pane.numTokens.toLocaleString("en")}`],
    ];
    if (token.added) facts[2][0] = "added token";
    const whole = wholeCharacters(pane, index);
    if (whole) facts.push(["part of", whole]);
    const title = element("p", {className: "title hf-bpe"}, appendPieces(element("bdi", {className: pane.colorAt(index)}), token.pieces));
    const list = element("dl", {}, ...facts.map(([name, value]) =>
      element("div", {}, element("dt", {}, name), element("dd", {}, element("bdi", {}, value)))));
    const close = element("button", {type: "button", className: "close", ariaLabel: "Close", onclick: () => this.hide()}, "×");
    this.tree = element("div", {className: "merges hf-bpe"});
    this.root.classList.add("open");
    this.root.replaceChildren(close, element("div", {className: "facts"}, title, list), this.tree);
    this.#showTree(pane.vocabulary.tokenizer, token.id);
  }

  hide() {
    clearTimeout(this.#timer);
    this.#shown = null;
    this.#isKept = false;
    this.root.classList.remove("open");
    this.root.replaceChildren(this.hint);
  }

  get isOpen() {
    return this.#shown !== null;
  }

  #showTree(tokenizer, id) {
    const key = `${tokenizer} ${id}`, shown = this.#shown;
    clearTimeout(this.#timer);
    if (this.#trees.has(key)) {
      this.tree.replaceChildren(drawTree(this.#trees.get(key)));
      return;
    }
    this.#timer = setTimeout(async () => {
      try {
        const tree = await requests.tree(tokenizer, id);
        this.#trees.set(key, tree);
        if (this.#shown === shown) this.tree.replaceChildren(drawTree(tree));
      } catch (error) {
        this.problem(error);
      }
    }, DELAY);
  }
}

/** Return the characters that a token has only a part of, as text; empty if it has whole characters. */
function wholeCharacters(pane, index) {
  // A character has at most four bytes, so its bytes are in at most three tokens before and after this one.
  const [before, bytes, after] = [[-3, -2, -1], [0], [1, 2, 3]].map((places) =>
    places.flatMap((place) => [...pane.tokenAt(index + place)?.data ?? []]));
  const continues = (byte) => (byte & 0xc0) === 0x80;
  while (before.length && continues(bytes[0])) bytes.unshift(before.pop());
  while (continues(after[0])) bytes.push(after.shift());
  if (bytes.length === pane.tokenAt(index).data.length) return "";
  try {
    const text = new TextDecoder("utf-8", {fatal: true}).decode(Uint8Array.from(bytes));
    return [...text].map((character) => `${character} U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`).join(", ");
  } catch {
    return ""; // the text itself is not UTF-8 here
  }
}

/** Return the merge tree as nested lists, the token on top. */
function drawTree({nodes, cut}) {
  const root = element("ul");
  const lists = [root], colors = [], counts = [];
  for (const {depth, id, kind, pieces} of nodes) {
    counts.length = depth + 1;
    counts[depth] = (counts[depth] ?? -1) + 1;
    colors[depth] = depth ? (colors[depth - 1] + 1 + counts[depth] % 3) % 4 : 0;
    const box = element("div", {className: `box ${colorName(colors[depth])}`},
      appendPieces(element("bdi", {className: colorName(colors[depth])}), pieces),
      element("small", {}, String(id)), element("small", {}, kind));
    const below = element("ul");
    lists[depth].append(element("li", {}, box));
    lists[depth + 1] = below;
    lists[depth].lastChild.append(below);
  }
  for (const list of root.querySelectorAll("ul:empty")) list.remove();
  const drawn = element("div", {className: "tree", tabIndex: 0, role: "region", ariaLabel: "Merges, the token on top"}, root);
  if (cut) drawn.append(element("p", {}, `The first ${nodes.length.toLocaleString("en")} nodes are shown.`));
  return drawn;
}
