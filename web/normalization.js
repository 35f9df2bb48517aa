// Normalization as `tokenizers` does it, which knows Unicode 9.0: a browser knows more characters, so only runs of those
// that were there then, and take part in normalization, are given to it. Normalization of these never changes again.

import { NORMALIZED } from "./tables.js";

const RUNS = new RegExp(`[${NORMALIZED}]+`, "gu");

export class Normalizer {
  #form;
  #space;

  /**
   * @param form NFC, NFD, NFKC, NFKD, or null for none.
   * @param space a character that becomes a space, or null.
   */
  constructor(form, space) {
    this.#form = form;
    this.#space = space;
  }

  apply(text) {
    if (this.#space !== null) return text.replaceAll(this.#space, " ");
    if (this.#form === null || text.normalize(this.#form) === text) return text;
    return text.replace(RUNS, (run) => run.normalize(this.#form));
  }

  /** Returns whether text certainly stays as it is, and so does each part of it. */
  leaves(text) {
    if (this.#space !== null) return !text.includes(this.#space);
    return this.#form === null || text.normalize(this.#form) === text || this.apply(text) === text;
  }

  /** Returns whether each character of the text stays in its place. */
  keepsPlaces(text) {
    return this.#space !== null || this.leaves(text);
  }
}
