// The editor of a chat: a list of turns, each with a role and a content.

import {element} from "./tokens.js";

const ROLES = ["system", "user", "assistant", "tool", "developer"];

export class Chat {
  #turns = [];

  constructor(list, button, changed) {
    this.list = list;
    this.changed = changed;
    button.addEventListener("click", () => {
      const role = this.messages.at(-1)?.role === "user" ? "assistant" : "user";
      this.#add({role, content: ""}).focus();
      changed();
    });
  }

  get messages() {
    return this.#turns.map(({role, content}) => ({role: role.value, content: content.value}));
  }

  set messages(messages) {
    this.#turns = [];
    this.list.replaceChildren();
    for (const message of messages) this.#add(message);
  }

  #add(message) {
    const roles = ROLES.includes(message.role) ? ROLES : [...ROLES, message.role];
    const role = element("select", {}, ...roles.map((name) => element("option", {value: name}, name)));
    role.value = message.role;
    const usual = {rows: 1, spellcheck: false, autocomplete: "off", autocapitalize: "off"};
    const content = element("textarea", {value: message.content, ...usual});
    const remove = element("button", {type: "button"}, "×");
    const turn = {role, content, remove, item: element("li", {}, role, content, remove)};
    role.addEventListener("change", this.changed);
    content.addEventListener("input", this.changed);
    remove.addEventListener("click", () => {
      this.#turns.splice(this.#turns.indexOf(turn), 1);
      turn.item.remove();
      this.#label();
      this.changed();
    });
    this.#turns.push(turn);
    this.list.append(turn.item);
    this.#label();
    return content;
  }

  #label() {
    this.#turns.forEach(({role, content, remove}, at) => {
      role.ariaLabel = `Role of turn ${at + 1}`;
      content.ariaLabel = `Content of turn ${at + 1}`;
      remove.ariaLabel = `Remove turn ${at + 1}`;
    });
  }
}
