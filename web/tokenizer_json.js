// What a tokenizer.json asks for. Every part that is not known here is refused by name, because ignoring one would give
// other ids than `tokenizers`. The rules are those of hf_bpe/formats/_files/tokenizer_json.py and the modules it names.

import { PATTERNS } from "./tables.js";

export const SPACE = "\u2581"; // what models of characters write for a space
const FORMS = ["NFC", "NFD", "NFKC", "NFKD"];
const PREFIXES = { never: 0, always: 1, first: 3 }; // PrefixSpace of the core
const PREFIX_ALWAYS = 2;

/** A file that hf_bpe cannot load in the browser: the message names the part. */
export class UnsupportedTokenizerError extends Error {
  name = "UnsupportedTokenizerError";
}

export function refuse(message) {
  throw new UnsupportedTokenizerError(message);
}

/**
 * Returns what a tokenizer.json, parsed without its vocabulary and merges, asks for.
 *
 * @param content the parsed JSON.
 * @param isOfText whether the core has read tokens as text, not as printable bytes.
 * @param vocabulary what the core has read: `size`, `highest`, `missingBytes`, `id(token)`, `isInMerges(token)`.
 */
export function readPlan(content, isOfText, vocabulary) {
  checkKeys(content, "the file", [
    ...["version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor", "decoder"],
    "model",
  ]);
  checkModel(content.model);
  const hasByteLevel = [content.pre_tokenizer, content.decoder].some((part) =>
    excerpt(part, Infinity).includes('"ByteLevel"'),
  );
  if (hasByteLevel === isOfText) refuse('the file writes "ByteLevel" in an unusual way, or has a token of that name');
  const tokens = addedTokens(content.added_tokens ?? [], vocabulary);
  const ids = new Map(tokens.map((token) => [token.content, token.id]));
  const idOf = (token) => ids.get(token) ?? vocabulary.id(token);
  const common = { tokens, ...template(content.post_processor, idOf) };
  const special = isOfText ? characterModel(content, vocabulary, ids) : byteModel(content, vocabulary, ids);
  const plan = { ...common, ...special };
  checkTokens(plan, vocabulary);
  plan.ignored = ["truncation", "padding"].filter((part) => content[part] != null);
  return plan;
}

// The model.

function checkModel(model) {
  checkKeys(model, "model", [
    ...["type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "byte_fallback"],
    ...["ignore_merges", "vocab", "merges"],
  ]);
  if ((model.type ?? "BPE") !== "BPE") refuse(`model: is ${excerpt(model.type)}; expected BPE`);
  if (!isEmpty(model.vocab) || !isEmpty(model.merges)) refuse("model: is given twice");
  if (model.dropout) refuse(`model: dropout ${excerpt(model.dropout)}, which makes ids random`);
  for (const name of ["continuing_subword_prefix", "end_of_word_suffix"]) {
    if (model[name]) refuse(`model: ${name} ${excerpt(model[name])}`);
  }
  for (const name of ["fuse_unk", "byte_fallback", "ignore_merges"]) flag(model, name, "model");
  if (model.unk_token != null && typeof model.unk_token !== "string")
    refuse(`model: unk_token ${excerpt(model.unk_token)}`);
}

function byteModel(content, vocabulary, ids) {
  const { model, decoder } = content;
  const decoders = partsOf(decoder, "decoders", "decoder");
  if (decoders.length !== 1 || decoders[0].type !== "ByteLevel") {
    refuse(`decoder: ${excerpt(decoder)}; expected ByteLevel`);
  }
  checkKeys(decoders[0], "decoder", ["type", "add_prefix_space", "trim_offsets", "use_regex"]);
  const normalizers = partsOf(content.normalizer, "normalizers", "normalizer");
  const isForm = normalizers.length === 1 && FORMS.includes(normalizers[0].type);
  if (normalizers.length > 0 && !isForm) {
    refuse(`normalizer: ${excerpt(content.normalizer)}; expected none or one of ${FORMS.join(", ")}`);
  }
  if (isForm) checkKeys(normalizers[0], "normalizer", ["type"]);
  let unknownId = null;
  if (vocabulary.missingBytes > 0) {
    const token = model.unk_token ?? null;
    if (model.byte_fallback && [...byteTokens()].some((each) => vocabulary.id(each) !== undefined)) {
      refuse("model: byte_fallback, with bytes that have no token");
    }
    if (token !== null) {
      if (!ids.has(token) || vocabulary.id(token) === undefined)
        refuse(`model: unk_token ${excerpt(token)} is not an added token of the vocabulary`);
      if (model.fuse_unk) refuse("model: fuse_unk, with bytes that have no token");
      if (vocabulary.isInMerges(token)) refuse(`model: unk_token ${excerpt(token)} is part of a merge`);
      unknownId = ids.get(token);
    }
  }
  return {
    isOfCharacters: false,
    ...pattern(content.pre_tokenizer),
    form: isForm ? normalizers[0].type : null,
    ignoresMerges: Boolean(model.ignore_merges),
    unknownId,
  };
}

// Splits by named patterns, whose spellings tables.js has; with the prefix space of a single ByteLevel.
function pattern(preTokenizer) {
  const stages = partsOf(preTokenizer, "pretokenizers", "pre_tokenizer").map(stage);
  let addsPrefixSpace = false;
  if (stages.length === 1 && stages[0].type === "ByteLevel") {
    addsPrefixSpace = stages[0].add_prefix_space;
    stages[0].add_prefix_space = false;
  }
  const name = PATTERNS[JSON.stringify(stages)];
  if (name === undefined) {
    refuse(
      `pre_tokenizer: ${excerpt(preTokenizer)} is none of the patterns with a name ` +
        `(${[...new Set(Object.values(PATTERNS))].filter(Boolean).join(", ")})`,
    );
  }
  return { pattern: name, addsPrefixSpace };
}

function stage(part) {
  const where = "pre_tokenizer";
  switch (part.type) {
    case "ByteLevel":
      checkKeys(part, where, ["type", "add_prefix_space", "trim_offsets", "use_regex"]);
      return {
        type: "ByteLevel",
        add_prefix_space: flag(part, "add_prefix_space", where),
        use_regex: flag(part, "use_regex", where, true),
      };
    case "Digits":
      checkKeys(part, where, ["type", "individual_digits"]);
      return { type: "Digits", individual_digits: flag(part, "individual_digits", where) };
    case "Split":
      checkKeys(part, where, ["type", "pattern", "behavior", "invert"]);
      return { type: "Split", pattern: part.pattern, behavior: part.behavior, invert: flag(part, "invert", where) };
    default:
      return refuse(`pre_tokenizer: ${excerpt(part)}; expected ByteLevel, Digits or Split`);
  }
}

function characterModel(content, vocabulary, ids) {
  const { model } = content;
  const unknown = model.unk_token ?? null;
  const standIns = unknown === null ? [] : [unknown];
  if (unknown !== null && vocabulary.id(unknown) === undefined) {
    refuse(`model: unk_token ${excerpt(unknown)} is not in the vocabulary`);
  }
  const bytes = [...byteTokens()];
  const known = bytes.filter((token) => vocabulary.id(token) !== undefined);
  const hasByteTokens = Boolean(model.byte_fallback) && known.length > 0;
  // The byte of a character that is a token is never needed.
  const isNeeded = (token, byte) => byte > 127 || vocabulary.id(String.fromCharCode(byte)) === undefined;
  const missing = bytes.find((token, byte) => vocabulary.id(token) === undefined && isNeeded(token, byte));
  if (hasByteTokens && missing !== undefined) refuse(`model: byte_fallback without the token ${missing}`);
  if (!hasByteTokens && unknown === null) refuse("model: neither byte_fallback nor an unk_token");
  if (hasByteTokens) standIns.push(...known);
  for (const token of standIns) {
    if (vocabulary.isInMerges(token)) refuse(`model: ${token}, which stands for other characters, is part of a merge`);
  }
  if (model.ignore_merges) refuse("model: ignore_merges without ByteLevel");
  if (vocabulary.id(SPACE) === undefined) refuse(`model: ${SPACE}, which stands for a space, is not a token`);
  return {
    isOfCharacters: true,
    ...spaces(content),
    ...textDecoder(content.decoder),
    hasByteTokens,
    unknownId: hasByteTokens ? null : vocabulary.id(unknown),
    fusesUnknown: !hasByteTokens && Boolean(model.fuse_unk),
  };
}

// Who writes spaces as U+2581: the normalizer, and then no pre-tokenizer finds any; or the pre-tokenizer Metaspace.
function spaces(content) {
  const normalizers = partsOf(content.normalizer, "normalizers", "normalizer").map((part) => JSON.stringify(part));
  const stages = partsOf(content.pre_tokenizer, "pretokenizers", "pre_tokenizer");
  const writes = JSON.stringify({ type: "Replace", pattern: { String: " " }, content: SPACE });
  const prepends = JSON.stringify({ type: "Prepend", prepend: SPACE });
  const isNormalizer = [writes, `${prepends},${writes}`].includes(normalizers.join());
  const cutsAtSpaces = (part) =>
    part.type === "Split" && JSON.stringify(part.pattern) === '{"String":" "}' && !part.invert;
  if (isNormalizer && stages.every(cutsAtSpaces)) {
    return { prefix: normalizers.length === 2 ? PREFIX_ALWAYS : PREFIXES.never, splits: false, keepsSpaces: true };
  }
  if (normalizers.length === 0 && stages.length === 1 && stages[0].type === "Metaspace") {
    const [part] = stages;
    const where = "pre_tokenizer";
    checkKeys(part, where, ["type", "replacement", "prepend_scheme", "split", "add_prefix_space"]);
    const scheme = part.prepend_scheme ?? "always";
    const isKnown =
      part.replacement === SPACE &&
      Object.hasOwn(PREFIXES, scheme) &&
      !(part.add_prefix_space === false && scheme !== "never");
    if (!isKnown) refuse(`pre_tokenizer: ${excerpt(part)}`);
    // What follows an added token has a beginning of its own, except where only that of the text has a space.
    return {
      prefix: PREFIXES[scheme],
      tellsStart: scheme === "first",
      splits: flag(part, "split", where, true),
      keepsSpaces: false,
    };
  }
  return refuse(
    `normalizer ${excerpt(content.normalizer)} with pre_tokenizer ${excerpt(content.pre_tokenizer)}: expected ` +
      `ByteLevel, Metaspace alone, or a normalizer that writes each space as ${SPACE}`,
  );
}

function textDecoder(decoder) {
  const replaces = JSON.stringify({ type: "Replace", pattern: { String: SPACE }, content: " " });
  const parts = partsOf(decoder, "decoders", "decoder");
  const [first, second, third, strip, ...others] = parts;
  const isKnown =
    JSON.stringify(first) === replaces &&
    second?.type === "ByteFallback" &&
    third?.type === "Fuse" &&
    others.length === 0;
  const isStrip =
    strip?.type === "Strip" &&
    strip.content === " " &&
    Number.isInteger(strip.start) &&
    strip.start >= 0 &&
    strip.stop === 0;
  if (!isKnown || (strip !== undefined && !isStrip)) {
    refuse(`decoder: ${excerpt(decoder)}; expected Replace, ByteFallback, Fuse and perhaps Strip`);
  }
  return { stripped: strip === undefined ? 0 : strip.start };
}

function* byteTokens() {
  for (let byte = 0; byte < 256; byte++) yield `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`;
}

// Added tokens.

const FLAGS = ["special", "normalized", "lstrip", "rstrip", "single_word"];

// With the ids that `tokenizers` gives them, whatever the file says: a token of the vocabulary has its id there, and
// others follow.
function addedTokens(tokens, vocabulary) {
  if (!Array.isArray(tokens)) refuse(`added_tokens: ${excerpt(tokens)}; expected a list`);
  const seen = new Set();
  let following = vocabulary.size;
  const found = [];
  for (const token of tokens) {
    checkKeys(token, "added_tokens", ["id", "content", ...FLAGS]);
    const { id, content } = token;
    if (typeof content !== "string" || !content.isWellFormed())
      refuse(`added_tokens: ${excerpt(token)}: expected text as content`);
    if (content === "") continue; // it is never found
    if (seen.has(content)) refuse(`added_tokens: ${excerpt(content)} is given twice`);
    seen.add(content);
    const expected = vocabulary.id(content) ?? following++;
    if (id !== expected) {
      refuse(`added_tokens: ${excerpt(content)} has the id ${excerpt(id)}, where tokenizers gives it ${expected}`);
    }
    if (expected >= vocabulary.size && vocabulary.highest >= vocabulary.size && vocabulary.id(content) === undefined) {
      refuse(`added_tokens: ${excerpt(content)} follows a vocabulary whose ids have gaps`);
    }
    const flags = FLAGS.map((name) => flag(token, name, "added_tokens"));
    found.push({ id, content, flags: flags.reduce((bits, isSet, place) => bits | (isSet << place), 0) });
  }
  return found;
}

function checkTokens({ tokens, isOfCharacters, keepsSpaces, ignoresMerges }, vocabulary) {
  for (const { content, flags } of tokens) {
    // They are searched in the text with its spaces and SPACEs, which are the same to the core.
    if (isOfCharacters && !keepsSpaces && flags & 2 && (flags & 12 || content.includes(SPACE) || content.includes(" "))) {
      refuse(
        `added_tokens: ${excerpt(content)} is normalized, in a model with Metaspace; expected neither lstrip, rstrip, ` +
          `a space nor ${SPACE}`,
      );
    }
    if (isOfCharacters && keepsSpaces && flags & 2) {
      refuse(`added_tokens: ${excerpt(content)} is normalized, in a model whose normalizer writes spaces`);
    }
    // In the vocabulary, what it looks like may be text or the printable form of bytes.
    const isPrintable = /^[\x21-\x7e\xa1-\xac\xae-\u0143]*$/.test(content) && /[^\x21-\x7e]/.test(content);
    if (ignoresMerges && isPrintable && vocabulary.id(content) !== undefined) {
      refuse(`added_tokens: ${excerpt(content)}, in a model with ignore_merges, may be text or bytes`);
    }
  }
}

// The post-processor: ids before and after a text, and offsets without white space.

function template(processor, idOf) {
  const parts = partsOf(processor, "processors", "post_processor");
  const where = "post_processor";
  const templates = parts.filter((part) => part.type !== "ByteLevel");
  if (templates.length > 1) refuse(`post_processor: ${excerpt(processor)} adds tokens twice`);
  const trims = parts.filter(
    (part) => ["ByteLevel", "RobertaProcessing"].includes(part.type) && flag(part, "trim_offsets", where, true),
  );
  const keeps = new Set(trims.map((part) => flag(part, "add_prefix_space", where, true)));
  if (keeps.size > 1) refuse(`post_processor: ${excerpt(processor)} trims offsets in two ways`);
  const trim = trims.length === 0 ? "no" : keeps.has(true) ? "all but a first space" : "all";
  const checked = (token, id) =>
    idOf(token) === id ? id : refuse(`post_processor: adds ${excerpt(token)} as the id ${excerpt(id)}`);
  let before = [];
  let after = [];
  for (const part of templates) {
    switch (part.type) {
      case "RobertaProcessing":
      case "BertProcessing":
        checkKeys(part, where, ["type", "sep", "cls", "trim_offsets", "add_prefix_space"]);
        before = [checked(...part.cls)];
        after = [checked(...part.sep)];
        break;
      case "TemplateProcessing": {
        // Some files have the fields of ByteLevel, too, which `tokenizers` ignores.
        checkKeys(part, where, [
          "type",
          "single",
          "pair",
          "special_tokens",
          "add_prefix_space",
          "trim_offsets",
          "use_regex",
        ]);
        const pieces = part.single.map((piece) => piece.Sequence ?? piece.SpecialToken);
        const place = part.single.findIndex((piece) => piece.Sequence !== undefined);
        const isOne = part.single.filter((piece) => piece.Sequence !== undefined).length === 1;
        if (!isOne || pieces[place].id !== "A")
          refuse(`post_processor: ${excerpt(part.single)}; expected the text once`);
        const idsOf = ({ id }) => {
          const entry = part.special_tokens[id];
          if (entry === undefined) refuse(`post_processor: ${excerpt(id)} is not among its special_tokens`);
          return entry.ids.map((each, number) => checked(entry.tokens[number], each));
        };
        before = pieces.slice(0, place).flatMap(idsOf);
        after = pieces.slice(place + 1).flatMap(idsOf);
        break;
      }
      default:
        refuse(
          `post_processor: ${excerpt(part)}; expected TemplateProcessing, RobertaProcessing, BertProcessing or ByteLevel`,
        );
    }
  }
  return { before, after, trim };
}

// Helpers.

// A part, or those of a Sequence of parts, in which Sequences may be, too.
function partsOf(part, key, where) {
  if (part == null) return [];
  if (typeof part !== "object") refuse(`${where}: ${excerpt(part)}`);
  if (part.type !== "Sequence") return [part];
  checkKeys(part, where, ["type", key]);
  if (!Array.isArray(part[key])) refuse(`${where}: ${excerpt(part)}`);
  return part[key].flatMap((each) => (each == null ? refuse(`${where}: ${excerpt(part)}`) : partsOf(each, key, where)));
}

function checkKeys(object, where, known) {
  if (object === null || typeof object !== "object" || Array.isArray(object)) {
    refuse(`${where}: ${excerpt(object)}; expected an object`);
  }
  const unknown = Object.keys(object).find((key) => !known.includes(key));
  if (unknown !== undefined) refuse(`${where}: ${unknown} is not known`);
}

function flag(object, name, where, unset = false) {
  const value = object[name] ?? unset;
  return typeof value === "boolean" ? value : refuse(`${where}: ${name}: ${excerpt(value)}; expected true or false`);
}

function isEmpty(object) {
  return object !== null && typeof object === "object" && Object.keys(object).length === 0;
}

function excerpt(value, most = 200) {
  const text = JSON.stringify(value) ?? "undefined";
  return text.length <= most ? text : `${text.slice(0, most)}…`;
}
