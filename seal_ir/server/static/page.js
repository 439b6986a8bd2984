// The page of a server: it asks the routes under /v1, as any client does, and shows texts as texts.
"use strict";

const of = (id) => document.getElementById(id);
const form = of("search");
let indexes = [];
let asked = 0;

async function get(path) {
  const key = of("key").value;
  const answer = await fetch(path, { headers: key ? { "X-API-Key": key } : {} });
  const told = await answer.json();
  if (!answer.ok) {
    throw new Error(told.error);
  }
  return told;
}

function element(name, text, className) {
  const made = document.createElement(name);
  made.textContent = text;
  if (className) {
    made.className = className;
  }
  return made;
}

function fill(select, names, chosen) {
  select.replaceChildren(...names.map((name) => new Option(name, name)));
  if (names.includes(chosen)) {
    select.value = chosen;
  }
}

function fillPresets(chosen) {
  const index = indexes.find((each) => each.name === of("index").value);
  fill(of("preset"), index ? index.presets : [], chosen);
}

// A record as a title, if it has one, and a text, whose first line may be that title again.
function titleAndText(doc) {
  if (typeof doc !== "object" || doc === null) {
    return ["", String(doc)];
  }
  const title = typeof doc.title === "string" ? doc.title : "";
  const text = doc.contents ?? doc.text ?? JSON.stringify(doc);
  const whole = typeof text === "string" ? text : JSON.stringify(text);
  return [title, title && whole.startsWith(`${title}\n`) ? whole.slice(title.length + 1) : whole];
}

function shown(candidate) {
  const [title, text] = titleAndText(candidate.doc);
  const item = document.createElement("li");
  const about = element("p", `${candidate.docid} · ${candidate.score.toFixed(3)}`, "about");
  item.append(element("h2", title || candidate.docid), about, element("p", text));
  return item;
}

function say(status, error) {
  of("status").textContent = status;
  of("error").textContent = error;
}

async function loadIndexes(wanted) {
  indexes = await get("/v1/indexes");
  fill(of("index"), indexes.map((each) => each.name), wanted.get("index"));
  fillPresets(wanted.get("preset"));
}

async function search(wanted) {
  const turn = ++asked;
  say("Searching…", "");
  of("results").replaceChildren();
  try {
    if (!indexes.length) {
      await loadIndexes(wanted);
    }
    const params = new URLSearchParams({ query: of("query").value, hits: of("hits").value });
    if (of("preset").value) {
      params.set("preset", of("preset").value);
    }
    const began = performance.now();
    const found = await get(`/v1/${encodeURIComponent(of("index").value)}/search?${params}`);
    if (turn !== asked) {
      return; // another question was asked meanwhile
    }
    const seconds = ((performance.now() - began) / 1000).toFixed(2);
    const n = found.candidates.length;
    of("results").replaceChildren(...found.candidates.map(shown));
    say(n ? `${n} document${n === 1 ? "" : "s"}, ${seconds} s` : "No document has what the model wrote.", "");
  } catch (error) {
    if (turn === asked) {
      say("", error.message);
    }
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const wanted = new URLSearchParams(new FormData(form));
  history.pushState(null, "", `?${wanted}`);
  search(wanted);
});

of("index").addEventListener("change", () => fillPresets(of("preset").value));

// The address says what is shown, so that it can be sent to others, and gone back to.
async function open() {
  const wanted = new URLSearchParams(location.search);
  of("query").value = wanted.get("query") ?? "";
  of("hits").value = wanted.get("hits") ?? "10";
  try {
    await loadIndexes(wanted);
  } catch (error) {
    say("", error.message);
    return;
  }
  if (of("query").value) {
    search(wanted);
  }
}

window.addEventListener("popstate", open);
open();
