// A document with what its keys took of it, and the keys as a table.

import { bar, make, number, percent, plural, unseen, visible } from "./dom.js";

const SHOWN = 12; // keys of a table; the others are summed up
const LONGEST_TITLE = 150;
const LONG = 2000; // characters from which a text scrolls in a place of its own
const STRENGTHS = 4; // of marks

// A document's contents as a title, which is their first line where that is short, and a text.
// Places count characters as Python does, and JavaScript does not.
export function titleAndText(docid, contents, highlights) {
  const characters = Array.from(contents);
  const end = characters.indexOf("\n");
  const hasTitle = end > 0 && end <= LONGEST_TITLE && end < characters.length - 1;
  const marks = markers(characters, highlights);
  const title = hasTitle ? marks(0, end) : [docid];
  return [title, marks(hasTitle ? end + 1 : 0, characters.length)];
}

// What makes a piece of a text into nodes, with marks that are the stronger the more was added there.
function markers(characters, highlights) {
  const most = Math.max(0, ...highlights.map((piece) => Math.abs(piece.share)));
  return (from, to) => {
    const nodes = [];
    let at = from;
    for (const { start, end, share } of highlights) {
      const [lo, hi] = [Math.max(start, from), Math.min(end, to)];
      if (lo >= hi) {
        continue;
      }
      const strength = most ? Math.max(1, Math.ceil((STRENGTHS * Math.abs(share)) / most)) : 1;
      const mark = make("mark", `m${strength}`, characters.slice(lo, hi).join(""));
      mark.title = `adds ${share.toFixed(2)} points`;
      nodes.push(characters.slice(at, lo).join(""), mark);
      at = hi;
    }
    return [...nodes, characters.slice(at, to).join("")];
  };
}

export function textOf(nodes) {
  const text = make("p", "text", ...nodes);
  if (text.textContent.length > LONG) {
    text.classList.add("long");
    text.tabIndex = 0;
    text.setAttribute("role", "group");
    text.setAttribute("aria-label", "Text of the document");
  }
  return text;
}

// The keys that add most, with bars; `word` is what the numbers are of ("score").
export function keyTable(keys) {
  const rows = keys.filter((key) => key.kind !== "unigram").sort((a, b) => b.fraction - a.fraction);
  const body = make("tbody", "", ...rows.slice(0, SHOWN).map(shareRow));
  const unigrams = keys.filter((key) => key.kind === "unigram");
  for (const [some, word] of [[rows.slice(SHOWN), "further key"], [unigrams, "unigram"]]) {
    if (some.length) {
      body.append(sumRow(some, word));
    }
  }
  return table(["Key", "Kind", "Weight", "F", "Share of the score"], body, "Keys");
}

function shareRow(key) {
  return row(key, [key.weight.toFixed(2), number(key.count)], share(key.fraction, key.share));
}

function sumRow(keys, word) {
  const sum = (name) => keys.reduce((total, key) => total + key[name], 0);
  const name = make("th", "faint", plural(keys.length, word));
  name.scope = "row";
  name.title = keys.map((key) => key.text).join(" · ");
  return make("tr", "", name, make("td"), make("td"), make("td"), share(sum("fraction"), sum("share")));
}

function share(fraction, points) {
  const told = make("span", "points", `${percent(fraction, 1)} `, make("span", "faint", `(${points.toFixed(1)})`));
  return make("td", "share", bar(fraction), told);
}

// Keys that add nothing here: what a document lacks, or holds beneath others.
export function weightTable(keys, name) {
  const most = Math.max(0, ...keys.map((key) => key.weight));
  const rows = keys.map((key) => {
    const weight = make("td", "share", bar(most ? key.weight / most : 0), make("span", "points", key.weight.toFixed(2)));
    return row(key, [number(key.count)], weight);
  });
  return table(["Key", "Kind", "F", "Weight"], make("tbody", "", ...rows), name);
}

function row(key, numbers, last) {
  const name = make("th", "key", make("q", "", readable(key.text)));
  name.scope = "row";
  const cells = numbers.map((each) => make("td", "num", each));
  return make("tr", "", name, make("td", "", kind(key.kind)), ...cells, last);
}

// A key as text; one that is nothing but white space is named.
export const readable = (text) => (text.trim() ? text : visible(text));

const kind = (name) => make("span", "kind", name);

function table(names, body, caption) {
  const heads = names.map((name) => {
    const head = make("th", ["Weight", "F"].includes(name) && name !== names.at(-1) ? "num" : "", name);
    head.scope = "col";
    if (name === "F") {
      head.title = "how often it occurs in the collection";
    }
    return head;
  });
  const made = make("table", "keys", make("caption", "unseen", caption), make("thead", "", make("tr", "", ...heads)), body);
  return make("div", "wide", made);
}

// A hit as an item of a list.
export function hitItem(candidate, isOpen, whyNot) {
  const { docid, score, contents, keys, highlights } = candidate;
  const [title, text] = titleAndText(docid, contents ?? "", highlights);
  const more = make("details", "why", make("summary", "", ...keysToldShortly(keys)), keyTable(keys));
  more.open = isOpen;
  const lacking = make("button", "link", "What does it lack?", unseen(` ${docid}`));
  lacking.type = "button";
  lacking.addEventListener("click", () => whyNot(docid));
  more.append(lacking);
  return make(
    "li", "hit",
    make("h2", "", ...title),
    make("p", "faint", `${docid} · score ${score.toFixed(2)}`),
    textOf(text),
    more,
  );
}

function keysToldShortly(keys) {
  const named = keys.filter((key) => key.kind !== "unigram").sort((a, b) => b.fraction - a.fraction);
  const chips = named.slice(0, 3).map((key) => make("span", "chip", readable(key.text)));
  const told = named.length ? `${plural(named.length, "key")} ` : `${plural(keys.length, "unigram")} `;
  return [told, ...chips.flatMap((chip) => [chip, " "])];
}
