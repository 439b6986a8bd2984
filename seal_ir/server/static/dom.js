// Making elements. Texts of documents and of the server are only ever set as text, never as markup.

export const of = (id) => document.getElementById(id);

// An element with a class, and children: elements or texts.
export function make(name, className = "", ...children) {
  const made = document.createElement(name);
  if (className) {
    made.className = className;
  }
  made.append(...children);
  return made;
}

// Text for screen readers only.
export const unseen = (text) => make("span", "unseen", text);

export const percent = (part, digits = 0) => `${(100 * part).toFixed(digits)} %`;

export const number = (value) => value.toLocaleString("en");

export const plural = (n, word) => `${number(n)} ${word}${n === 1 ? "" : "s"}`;

// A bar as long as a part of its place. (Set from here: the security policy forbids styles in markup.)
export function bar(part) {
  const inner = make("span", "bar-in");
  inner.style.width = `${100 * Math.min(1, Math.max(0, part))}%`;
  const outer = make("span", "bar", inner);
  outer.setAttribute("aria-hidden", "true"); // the number stands beside it
  return outer;
}

// White space at the ends of a token is seen, and a line feed is.
export const visible = (text) => text.replace(/^ +| +$/g, (s) => "␣".repeat(s.length)).replaceAll("\n", "⏎") || "∅";
