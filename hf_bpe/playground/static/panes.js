// A pane shows the tokens of one tokenizer. Tokens come in chunks, of which those near the visible part are drawn.

import {COLORS, Vocabulary, colorName, drawToken, element} from "./tokens.js";

const AHEAD = 400; // pixels before and after the visible part that are drawn, too
const LINE = 28, CHARACTER = 9; // pixels, for the heights of chunks that are not drawn

const number = (value) => value.toLocaleString("en");
const counted = (value, noun) => `${number(value)} ${noun}${value === 1 ? "" : "s"}`;

export class Pane {
  #chunks = [];
  #ids = new Uint32Array();
  #active = null; // index of the token that keys move
  #drawing = null;
  #observer;

  constructor(tokenizer, info, details, problem) {
    this.info = info;
    this.vocabulary = new Vocabulary(tokenizer);
    this.details = details;
    this.problem = problem;
    const name = element("h2", {id: `name${tokenizer}`}, info.name);
    this.counts = element("p", {className: "counts"});
    this.bar = element("div");
    const label = {role: "listbox", ariaLabel: `Tokens of ${info.name}`};
    this.list = element("div", {className: "tokens hf-bpe", tabIndex: 0, ...label});
    this.list.setAttribute("aria-describedby", "keys");
    const bar = element("div", {className: "bar", ariaHidden: "true"}, this.bar);
    this.element = element("section", {className: "pane"}, element("header", {}, name, this.counts), bar, this.list);
    this.element.setAttribute("aria-labelledby", name.id);
    this.#observer = new IntersectionObserver((entries) => this.#observed(entries), {root: this.list, rootMargin: `${AHEAD}px 0px`});
    this.#listen();
  }

  /** Show a result; `first` is that of the first tokenizer, `most` the largest number of tokens. */
  async show(result, {first, most, showsIds}) {
    const redraws = showsIds !== this.showsIds;
    this.showsIds = showsIds;
    this.summary = this.#summarize(result, first);
    this.counts.textContent = this.summary;
    this.bar.style.width = result.error === undefined && most ? `${100 * result.tokens / most}%` : "0";
    this.#ids = result.ids ?? new Uint32Array();
    this.vocabulary.add(result.near ?? []);
    this.#divide(result.chunks ?? [], result.parts ?? [], redraws);
    // An answer may come after the keys have moved here.
    const active = document.activeElement === this.list ? this.#active ?? 0 : null;
    this.#activate(null);
    await this.#draw();
    if (active !== null && this.#ids.length) this.#activate(Math.min(active, this.#ids.length - 1));
  }

  #summarize(result, first) {
    if ("error" in result) return "";
    const rate = result.tokens ? ` · ${(result.bytes / result.tokens).toFixed(2)} bytes per token` : "";
    let other = "";
    if (first !== result && first.tokens && result.tokens !== first.tokens) {
      const percent = 100 * (result.tokens / first.tokens - 1);
      other = ` · ${percent > 0 ? "+" : "−"}${Math.abs(percent).toFixed(Math.abs(percent) < 10 ? 1 : 0)} %`;
    }
    return `${counted(result.tokens, "token")}${other} · ${counted(result.bytes, "byte")}${rate}`;
  }

  /** Make a chunk for each of the result, and keep what is drawn of those that are the same. */
  #divide(chunks, parts, redraws) {
    const perLine = Math.max(10, this.list.clientWidth / CHARACTER);
    let start = 0, height = 0, lastColor = -1;
    const turns = [...parts];
    chunks.forEach(([end, bytes, lines], at) => {
      const chunk = this.#chunks[at] ?? this.#addChunk();
      const ids = this.#ids.subarray(start, end);
      // Chunks after a change keep their colors, and so their elements, unless neighbors would have the same color.
      if (chunk.color === undefined || chunk.color === lastColor) {
        chunk.color = (lastColor + 1) % COLORS;
        chunk.isStale = true;
      }
      if (redraws || !equal(chunk.ids, ids)) chunk.isStale = true;
      lastColor = (chunk.color + ids.length - 1) % COLORS;
      Object.assign(chunk, {start, ids, estimate: LINE * Math.max(lines, Math.ceil(bytes / perLine), 1)});
      const headings = [];
      while (turns.length && turns[0][1] <= start) headings.push(turns.shift()[0]);
      this.#head(chunk, headings);
      if (height < this.list.clientHeight + AHEAD && this.list.scrollTop === 0) chunk.isNear = true;
      height += chunk.estimate;
      if (!chunk.isNear) this.#erase(chunk);
      start = end;
    });
    for (const chunk of this.#chunks.splice(chunks.length)) {
      this.#observer.unobserve(chunk.element);
      chunk.element.remove();
    }
    this.list.querySelector(":scope > .turn")?.remove();
    if (turns.length) this.list.append(element("div", {className: "turn"}, turns.map(([name]) => name).join(", ")));
  }

  #addChunk() {
    const body = element("div", {role: "presentation"});
    const chunk = {element: element("div", {role: "group", className: "chunk"}, body), body, ids: new Uint32Array(), isStale: true};
    chunk.element.chunk = chunk;
    this.#chunks.push(chunk);
    this.list.append(chunk.element);
    this.#observer.observe(chunk.element);
    return chunk;
  }

  #head(chunk, headings) {
    const heading = headings.join(", ");
    if ((chunk.heading ?? "") === heading) return;
    chunk.heading = heading;
    chunk.element.querySelector(".turn")?.remove();
    chunk.element.ariaLabel = heading || null;
    if (heading) chunk.element.prepend(element("div", {className: "turn", role: "presentation"}, heading));
  }

  #erase(chunk) {
    if (chunk.isDrawn && !chunk.isStale) chunk.estimate = chunk.body.offsetHeight;
    if (chunk.isDrawn) chunk.body.replaceChildren();
    chunk.isDrawn = false;
    chunk.isStale = true;
    chunk.body.style.height = `${chunk.estimate}px`;
  }

  #observed(entries) {
    for (const {target: {chunk}, isIntersecting} of entries) {
      chunk.isNear = isIntersecting;
      if (!isIntersecting && chunk.isDrawn) this.#erase(chunk);
    }
    this.#draw().catch(this.problem);
  }

  /** Draw the chunks near the visible part that are not drawn as they are now. */
  async #draw() {
    const mine = this.#drawing = {};
    for (;;) {
      const needed = this.#chunks.filter((chunk) => chunk.isNear && chunk.isStale);
      const ids = needed.flatMap((chunk) => [...chunk.ids]);
      if (!this.vocabulary.has(ids)) {
        await this.vocabulary.load(ids);
        if (this.#drawing !== mine) return; // a later call draws
        continue;
      }
      for (const chunk of needed) this.#drawChunk(chunk);
      return;
    }
  }

  #drawChunk(chunk) {
    const drawn = [];
    chunk.ids.forEach((id, at) => drawn.push(...drawToken(this.vocabulary.get(id), chunk.color + at, this.showsIds)));
    chunk.body.replaceChildren(...drawn);
    chunk.body.className = this.showsIds ? "ids" : "";
    chunk.body.style.height = "";
    chunk.isDrawn = true;
    chunk.isStale = false;
  }

  #listen() {
    const tokenAt = (event) => {
      const drawn = event.target.closest?.("bdi"), chunk = drawn?.closest(".chunk").chunk;
      return chunk && chunk.start + [...chunk.body.querySelectorAll("bdi")].indexOf(drawn);
    };
    this.list.addEventListener("pointerover", (event) => {
      const index = tokenAt(event);
      if (index !== undefined && event.pointerType === "mouse") this.details.point(this, index);
    });
    this.list.addEventListener("click", (event) => {
      const index = tokenAt(event);
      if (index !== undefined) this.#select(index, true);
    });
    this.list.addEventListener("focus", () => {
      if (this.#ids.length && this.list.matches(":focus-visible")) this.#select(this.#active ?? 0, false);
    });
    this.list.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey || !this.#ids.length) return;
      const at = this.#active ?? 0, last = this.#ids.length - 1;
      const targets = {
        ArrowRight: () => at + 1, ArrowLeft: () => at - 1, Home: () => 0, End: () => last,
        ArrowDown: () => this.#onLine(at, 1), ArrowUp: () => this.#onLine(at, -1),
        PageDown: () => at + 100, PageUp: () => at - 100,
      };
      if (event.key === "Enter" || event.key === " ") this.#select(at, true);
      else if (event.key in targets) this.#select(Math.min(last, Math.max(0, targets[event.key]())), false);
      else return;
      event.preventDefault();
    });
  }

  /** Make a token the one that keys move, and show its details. */
  async #select(index, isKept) {
    try {
      const chunk = this.#chunkAt(index);
      if (chunk.isStale) {
        chunk.isNear = true;
        chunk.element.scrollIntoView({block: "nearest"});
        await this.#draw();
      }
      this.#activate(index);
      this.details.show(this, index, isKept);
      this.#drawn(index)?.scrollIntoView({block: "nearest"}); // the details may have taken its place
    } catch (error) {
      this.problem(error);
    }
  }

  #activate(index) {
    this.list.querySelector(".active")?.classList.remove("active");
    this.#active = index;
    const drawn = index === null ? null : this.#drawn(index);
    if (!drawn) {
      this.list.removeAttribute("aria-activedescendant");
      return;
    }
    const token = this.tokenAt(index);
    drawn.id = `${this.element.getAttribute("aria-labelledby")}-${index}`;
    drawn.classList.add("active");
    drawn.ariaLabel = `${drawn.textContent}, id ${token.id}, ${counted(token.data.length, "byte")}`;
    drawn.ariaSetSize = this.#ids.length;
    drawn.ariaPosInSet = index + 1;
    this.list.setAttribute("aria-activedescendant", drawn.id);
    drawn.scrollIntoView({block: "nearest"});
  }

  #chunkAt(index) {
    return this.#chunks.findLast((chunk) => chunk.start <= index);
  }

  #drawn(index) {
    const chunk = this.#chunkAt(index);
    return chunk?.isDrawn ? chunk.body.querySelectorAll("bdi")[index - chunk.start] : undefined;
  }

  /** Return the index of the token on the next line in a direction, below or above a token. */
  #onLine(index, direction) {
    const box = this.#drawn(index)?.getClientRects()[0];
    if (!box) return index + 10 * direction;
    let best = index, distance = Infinity, line = null;
    for (let at = index + direction; at >= 0 && at < this.#ids.length; at += direction) {
      const other = this.#drawn(at)?.getClientRects()[0];
      if (!other) return best === index ? at : best;
      if (Math.abs(other.top - box.top) < box.height / 2) continue; // the same line
      if (line !== null && Math.abs(other.top - line) > box.height / 2) break; // two lines on
      line ??= other.top;
      const apart = Math.abs(other.left + other.width / 2 - box.left - box.width / 2);
      if (apart < distance) [best, distance] = [at, apart];
    }
    return best;
  }

  colorAt(index) {
    const chunk = this.#chunkAt(index);
    return colorName(chunk.color + index - chunk.start);
  }

  /** The token at an index, as the server describes it; undefined if it has not been drawn. */
  tokenAt(index) {
    return this.vocabulary.get(this.#ids[index]);
  }

  get numTokens() {
    return this.#ids.length;
  }
}

function equal(one, other) {
  return one.length === other.length && one.every((value, at) => value === other[at]);
}
