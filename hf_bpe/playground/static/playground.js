// The page: what is typed is encoded by the server, one request at a time, and shown in a pane for each tokenizer.

import {Chat} from "./chats.js";
import {Details} from "./details.js";
import {NoLink, writeFragment, readFragment} from "./links.js";
import {Pane} from "./panes.js";
import * as requests from "./requests.js";

const $ = (id) => document.getElementById(id);
const FLAGS = {recognize: true, add: false, generation: true, ids: false}; // the settings, with their defaults
const QUIET = 700; // milliseconds without typing until the counts are announced
const SLOW = 50; // milliseconds of encoding from which on the page waits for a pause in typing
const MAX_PAUSE = 400;

const details = new Details($("details"), showProblem);
const chat = new Chat($("turns"), $("add-turn"), update);
let panes = [];
let isEncoding = false, isChanged = false, lastTook = 0, announcing = null, encodingProblem = null;

const mode = () => document.querySelector("input[name=mode]:checked").value;

function showProblem(error) {
  if (error && !(error instanceof requests.Refused || error instanceof NoLink)) console.error(error);
  $("problem").textContent = error?.message ?? "";
}

/** Encode what is there now. While a request is under way, only the newest of what is typed waits for its end. */
async function update() {
  isChanged = true;
  if (isEncoding) return;
  isEncoding = true;
  try {
    while (isChanged) {
      isChanged = false;
      const began = performance.now();
      await encode();
      lastTook = performance.now() - began;
      if (isChanged && lastTook > SLOW) await new Promise((done) => setTimeout(done, Math.min(lastTook, MAX_PAUSE)));
    }
  } finally {
    isEncoding = false;
  }
}

async function encode() {
  const isChat = mode() === "chat";
  try {
    const results = isChat
      ? await requests.chat(chat.messages, $("generation").checked)
      : await requests.encode($("text").value, $("recognize").checked, $("add").checked, $("text").selectionEnd);
    if (encodingProblem) showProblem(null);
    encodingProblem = null;
    const first = results[0], most = Math.max(...results.map((result) => result.tokens ?? 0));
    showNote(results);
    await Promise.all(results.map((result, at) => panes[at].show(result, {first, most, showsIds: $("ids").checked})));
    clearTimeout(announcing);
    announcing = setTimeout(announce, QUIET);
  } catch (error) {
    encodingProblem = error;
    showProblem(error);
  }
}

/** Show what is to be said of the results, once if it is the same of all. */
function showNote(results) {
  const notes = results.map(({error, exact}) =>
    error ?? (exact ? "" : "the tokens decode to another text, for the tokenizer changes it before encoding"));
  const lines = notes.map((note, at) => note && `${panes[at].info.name}: ${note}`).filter(Boolean);
  $("note").textContent = new Set(notes).size > 1 ? lines.join("\n") : notes[0];
  $("note").classList.toggle("error", results.some((result) => "error" in result));
}

function announce() {
  $("status").textContent = panes.map((pane) => `${pane.info.name}: ${pane.summary}`).join("; ");
}

function showMode() {
  const isChat = mode() === "chat";
  $("text").hidden = isChat;
  $("chat").hidden = !isChat;
  for (const label of document.querySelectorAll("[data-mode]")) label.hidden = label.dataset.mode !== mode();
}

async function load(file) {
  requests.checkSize(file.size);
  $("text").value = await file.text();
  document.querySelector("input[value=text]").checked = true;
  showMode();
  await update();
}

// Links.

function currentState() {
  const state = mode() === "chat" ? {messages: chat.messages} : {text: $("text").value};
  for (const [name, usual] of Object.entries(FLAGS)) {
    if ($(name).checked !== usual) state[name] = !usual;
  }
  return state;
}

async function restore() {
  let state = {};
  try {
    state = await readFragment(location.hash.slice(1), requests.maxBytes()) ?? {};
    showProblem(null);
  } catch (error) {
    showProblem(error);
  }
  for (const [name, usual] of Object.entries(FLAGS)) $(name).checked = typeof state[name] === "boolean" ? state[name] : usual;
  const messages = Array.isArray(state.messages) ? state.messages : null;
  if (messages) {
    chat.messages = messages.map((message) => ({role: String(message?.role), content: String(message?.content)}));
  }
  if (typeof state.text === "string") $("text").value = state.text;
  document.querySelector(`input[name=mode][value=${messages ? "chat" : "text"}]`).checked = true;
  showMode();
}

async function copyLink() {
  try {
    const address = new URL(location.href);
    address.hash = await writeFragment(currentState());
    history.replaceState(null, "", address);
    await (navigator.clipboard?.writeText(address.href) ?? Promise.reject()) // absent without HTTPS
      .catch(() => Promise.reject(new NoLink(`The browser lets pages copy nothing. The link is ${address.href}`)));
    $("copy").textContent = "Copied";
    setTimeout(() => $("copy").textContent = "Copy link", 1500);
  } catch (error) {
    showProblem(error);
  }
}

// Start.

async function start() {
  const infos = await requests.describe();
  panes = infos.map((info, at) => new Pane(at, info, details, showProblem));
  $("panes").replaceChildren(...panes.map((pane) => pane.element));
  if (!infos.some((info) => info.adds)) {
    $("add").disabled = true;
    $("add").parentElement.title = infos.length > 1 ? "None of these tokenizers adds any" : "This tokenizer adds none";
  }
  chat.messages = [{role: "user", content: "Hello!"}];
  document.title = `${infos.map((info) => info.name).join(", ")} · Playground`;
  await restore();
  await update();
  $("text").focus();
  if (!location.hash) $("text").select(); // typing replaces the sample
}

$("text").addEventListener("input", update);
for (const name of Object.keys(FLAGS)) $(name).addEventListener("change", update);
for (const radio of document.querySelectorAll("input[name=mode]")) {
  radio.addEventListener("change", () => {
    details.hide();
    showMode();
    update();
  });
}
document.addEventListener("dragover", (event) => {
  if (event.dataTransfer.types.includes("Files")) event.preventDefault(); // or the browser leaves the page for the file
});
document.addEventListener("drop", (event) => {
  const [file] = event.dataTransfer.files;
  if (!file) return; // text that is dropped
  event.preventDefault();
  load(file).catch(showProblem);
});
$("copy").addEventListener("click", copyLink);
window.addEventListener("hashchange", () => restore().then(update));
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  if (details.isOpen) details.hide();
  (mode() === "chat" ? document.querySelector("#turns textarea") : $("text"))?.focus();
});
start().catch(showProblem);
