// The page of a server: it asks the routes under /v1, as any client does.

import { Refused, get, route, useKey } from "./api.js";
import { columns, systemsOf } from "./compare.js";
import { make, number, of, plural } from "./dom.js";
import { hitItem, textOf, titleAndText, keyTable, weightTable } from "./hits.js";
import { treeOf } from "./tree.js";

const VIEWS = ["results", "compare", "document", "tree"];
let indexes = [];
let view = "results";
let asking = new AbortController(); // of what is shown
const filled = new Set(); // views that show the question that was asked
let question = null; // { query, index, preset, hits } as it was asked

const served = (name) => indexes.find((each) => each.name === name);

function say(status, error = "") {
  of("status").textContent = status;
  of("error").textContent = error;
}

// ---- what is asked, and shown in each view

const FILL = {
  results: async (signal) => {
    const { query, index, preset, hits } = question;
    const { candidates } = await get(route(index, "search"), { query, preset, hits, explain: true }, signal);
    of("results").replaceChildren(make("ol", "", ...candidates.map((each, at) => hitItem(each, at === 0, whyNot))));
    return candidates.length ? plural(candidates.length, "document") : "No document holds what the model wrote";
  },
  compare: async (signal) => {
    const { query, index, preset, hits } = question;
    const systems = systemsOf(served(index));
    const ordered = [preset, ...systems.filter((system) => system !== preset)];
    const [shown, done] = columns(index, ordered, query, hits, signal);
    of("compare").replaceChildren(shown);
    await done;
    signal.throwIfAborted(); // something else was asked meanwhile
    return `${plural(systems.length, "ranking")}`;
  },
  tree: async (signal) => {
    const { query, index, preset } = question;
    const { decoding } = await get(route(index, "trace"), { query, preset }, signal);
    of("tree").replaceChildren(...treeOf(decoding));
    return "How the keys were written";
  },
  document: async (signal) => {
    const { query, index, preset, hits } = question;
    const docid = of("docid").value;
    if (!docid) {
      of("docid").focus();
      return "";
    }
    const found = await get(route(index, "explain"), { query, preset, hits, docid }, signal);
    of("explanation").replaceChildren(...explained(found));
    return `Explained ${docid}`;
  },
};

function explained(found) {
  const parts = [make("p", "reason", make("strong", "", found.status.replaceAll("_", " ")), `: ${found.reason}`)];
  if (found.contents !== null) {
    const [title, text] = titleAndText(found.docid, found.contents, found.highlights);
    const limit = found.last_score === null ? "" : ` · the last of the ${number(found.k)} hits has ${found.last_score.toFixed(2)}`;
    const about = make("p", "faint", `${found.docid} · score ${found.score.toFixed(2)}${limit}`);
    parts.unshift(make("h2", "", ...title), about);
    parts.push(textOf(text));
  }
  for (const [name, keys, shown] of [
    ["Keys that make its score", found.keys, keyTable],
    ["Held, and adding nothing", found.unused, weightTable],
    [`Not held (${found.lacking.length} of ${number(found.n_lacking)})`, found.lacking, weightTable],
  ]) {
    if (keys.length) {
      parts.push(make("h3", "", name), shown(keys, name));
    }
  }
  return parts;
}

function whyNot(docid) {
  of("docid").value = docid;
  filled.delete("document");
  show("document", true);
  of("tab-document").focus();
}

async function fill() {
  asking.abort();
  const mine = (asking = new AbortController());
  document.querySelectorAll("[aria-busy]").forEach((each) => each.removeAttribute("aria-busy"));
  if (filled.has(view)) {
    say("");
    return;
  }
  const [shown, began] = [view, performance.now()];
  const place = of(shown === "document" ? "explanation" : shown);
  place.replaceChildren();
  place.setAttribute("aria-busy", "true");
  say(shown === "document" && !of("docid").value ? "" : "Asking…");
  try {
    const told = await FILL[shown](mine.signal);
    mine.signal.throwIfAborted();
    filled.add(shown);
    say(told && `${told}, ${((performance.now() - began) / 1000).toFixed(2)} s`);
  } catch (error) {
    if (error.name !== "AbortError") {
      refuse(error);
    }
  }
  if (mine === asking) {
    place.removeAttribute("aria-busy");
  }
}

function refuse(error) {
  say("", error.message);
  if (error instanceof Refused) {
    of("unlock").hidden = false;
    of("key").focus();
  }
}

// ---- views

function show(name, isNew = false) {
  view = name;
  for (const each of VIEWS) {
    const [tab, isShown] = [of(`tab-${each}`), each === name];
    tab.setAttribute("aria-selected", String(isShown));
    tab.tabIndex = isShown ? 0 : -1;
    of(each).hidden = !isShown;
  }
  remember(!isNew);
  fill();
}

of("tabs").addEventListener("click", ({ target }) => {
  if (target.id.startsWith("tab-")) {
    show(target.id.slice("tab-".length));
  }
});

of("tabs").addEventListener("keydown", (event) => {
  const tabs = VIEWS.filter((each) => !of(`tab-${each}`).hidden);
  const at = tabs.indexOf(view);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
  if (to !== undefined) {
    event.preventDefault();
    const name = tabs[(to + tabs.length) % tabs.length];
    show(name);
    of(`tab-${name}`).focus();
  }
});

// ---- settings

function choices(select, names, chosen) {
  select.replaceChildren(...names.map((name) => new Option(name, name)));
  select.value = names.includes(chosen) ? chosen : names[0];
}

function showIndex(preset) {
  const about = served(of("index").value);
  choices(of("preset"), about.presets, preset);
  of("about").textContent = `${about.name} · ${plural(about.documents, "document")} · ${about.model}`;
  of("tab-compare").hidden = systemsOf(about).length < 2;
}

async function load(wanted) {
  indexes = await get("/v1/indexes");
  of("unlock").hidden = true;
  choices(of("index"), indexes.map((each) => each.name), wanted.get("index"));
  showIndex(wanted.get("preset"));
}

of("index").addEventListener("change", () => showIndex(of("preset").value));
for (const id of ["index", "preset", "hits"]) {
  of(id).addEventListener("change", () => question && of("search").requestSubmit());
}

// ---- asking

// The address says what is shown, so that it can be sent to others, and gone back to.
function remember(isSame) {
  const told = new URLSearchParams({ ...question, ...(view === "results" ? {} : { view }) });
  if (view === "document" && of("docid").value) {
    told.set("docid", of("docid").value);
  }
  history[isSame ? "replaceState" : "pushState"](null, "", `?${told}`);
}

async function ask() {
  question = Object.fromEntries(new FormData(of("search")));
  filled.clear();
  of("welcome").hidden = true;
  of("views").hidden = false;
  document.title = `${question.query} - seal-ir`;
  if (of(`tab-${view}`).hidden) {
    view = "results";
  }
}

of("search").addEventListener("submit", (event) => {
  event.preventDefault();
  if (!indexes.length) {
    open();
    return;
  }
  ask();
  remember(false);
  show(view);
});

of("explain").addEventListener("submit", (event) => {
  event.preventDefault();
  filled.delete("document");
  show("document", true);
});

of("unlock").addEventListener("submit", (event) => {
  event.preventDefault();
  useKey(of("key").value);
  open(of("query").value);
});

document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !event.target.closest("input, select, textarea")) {
    event.preventDefault();
    of("query").focus();
  }
});

// What the address asks for; `query` where one has been typed before the key was known.
async function open(query) {
  const wanted = new URLSearchParams(location.search);
  of("query").value = query || (wanted.get("query") ?? "");
  of("hits").value = wanted.get("hits") ?? "10";
  of("docid").value = wanted.get("docid") ?? "";
  view = VIEWS.includes(wanted.get("view")) ? wanted.get("view") : "results";
  say("");
  try {
    await load(wanted);
  } catch (error) {
    refuse(error);
    return;
  }
  if (of("query").value) {
    ask();
    show(view);
  } else {
    of("query").focus();
  }
}

window.addEventListener("popstate", () => open());
open();
