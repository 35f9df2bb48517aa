// Answers questions about a tokenizer: read as JSON from standard input, answered in the same order on standard output.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { load } = await import(pathToFileURL(process.argv[2]));
const { file, questions } = JSON.parse(readFileSync(0, "utf8"));

const plain = (value) => (ArrayBuffer.isView(value) ? [...value] : value);
const answers = [];
try {
  const tokenizer = await load(readFileSync(file));
  for (const [method, argument, options] of questions) {
    try {
      const answer = tokenizer[method](argument, options);
      answers.push(method === "offsets" ? { ids: plain(answer.ids), offsets: plain(answer.offsets) } : plain(answer));
    } catch (error) {
      answers.push({ error: `${error.name}: ${error.message}` });
    }
  }
} catch (error) {
  answers.push({ error: `${error.name}: ${error.message}` });
}
console.log(JSON.stringify(answers));
