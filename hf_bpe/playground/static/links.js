// The part of the address after #: text and settings, which browsers do not send to the server.
// It is "1." and the URL-safe base64 of raw deflate of JSON, as in _playground.py.

const MAX_LENGTH = 100_000; // characters; longer addresses are cut by programs they are pasted into

export class NoLink extends Error {}

/** Return the fragment for a state of the page. */
export async function writeFragment(state) {
  const stream = new Blob([JSON.stringify(state)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  if (bytes.length > MAX_LENGTH * 0.75) {
    throw new NoLink(`The text is too long for a link: ${Math.ceil(bytes.length / 750) / 100} times what one can hold.`);
  }
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return "1." + btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Return the state in a fragment, of at most `maxBytes` bytes; null if there is no fragment. */
export async function readFragment(fragment, maxBytes) {
  if (!fragment) return null;
  try {
    if (!fragment.startsWith("1.")) throw new Error();
    const binary = atob(fragment.slice(2).replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    const state = JSON.parse(await read(stream, maxBytes));
    if (typeof state !== "object" || state === null) throw new Error();
    return state;
  } catch {
    throw new NoLink("The part of the address after # is damaged or holds too much text; it is left out.");
  }
}

// A few bytes may unpack to gigabytes, so the stream is not read to its end at once.
async function read(stream, maxBytes) {
  const parts = [];
  let size = 0;
  for (const reader = stream.getReader(); ;) {
    const {done, value} = await reader.read();
    if (done) return new Blob(parts).text();
    size += value.length;
    if (size > maxBytes) throw new Error();
    parts.push(value);
  }
}
