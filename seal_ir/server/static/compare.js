// Rankings of several systems side by side; the first is what the others are compared with.

import { get, route } from "./api.js";
import { make } from "./dom.js";
import { readable, titleAndText } from "./hits.js";

export const BM25 = "BM25";

export const systemsOf = (about) => [...about.presets, ...(about.bm25 ? [BM25] : [])];

export function ask(index, system, query, hits, signal) {
  return system === BM25
    ? get(route(index, "bm25"), { query, hits }, signal)
    : get(route(index, "search"), { query, hits, preset: system, explain: true }, signal);
}

// A column for each system, at once; they fill as the answers come. Resolves when all have.
export function columns(index, systems, query, hits, signal) {
  const started = systems.map((system) => ({ system, list: make("ol", "", make("li", "faint", "Searching…")), seconds: make("span", "faint") }));
  const began = performance.now();
  const answers = started.map(async ({ system, list, seconds }) => {
    try {
      const { candidates } = await ask(index, system, query, hits, signal);
      seconds.textContent = ` ${((performance.now() - began) / 1000).toFixed(2)} s`;
      return { list, candidates };
    } catch (error) {
      list.replaceWith(make("p", "fault", error.message));
      return null;
    }
  });
  const places = (async () => {
    const first = await answers[0];
    return new Map(first ? first.candidates.map(({ docid, rank }) => [docid, rank]) : []);
  })();
  const done = answers.map(async (answer, number) => {
    const [known, found] = [await places, await answer];
    if (found) {
      const items = found.candidates.map((each) => item(each, number ? known : null, systems[0]));
      found.list.replaceChildren(...(items.length ? items : [make("li", "faint", "No document.")]));
    }
  });
  const parts = started.map(({ system, list, seconds }) => make("section", "column", make("h2", "", system, seconds), list));
  return [make("div", "columns", ...parts), Promise.all(done)];
}

function item({ docid, score, rank, contents, highlights, keys }, known, first) {
  const [title] = titleAndText(docid, contents, highlights ?? []);
  const text = title.map((part) => (typeof part === "string" ? part : part.textContent)).join("");
  const about = make("span", "faint", `${text === docid ? "" : `${docid} · `}${score.toFixed(2)}`);
  const made = make("li", "", make("span", "name", text), make("br"), about);
  if (known && known.get(docid) !== rank) {
    made.append(" ", moved(known.get(docid), rank, first));
  }
  const named = (keys ?? []).filter((key) => key.kind !== "unigram").sort((a, b) => b.fraction - a.fraction);
  if (named.length) {
    made.append(make("br"), ...named.slice(0, 3).flatMap((key) => [make("span", "chip", readable(key.text)), " "]));
  }
  return made;
}

function moved(before, rank, first) {
  if (before === undefined) {
    return make("span", "moved new", `not in ${first}`);
  }
  return make("span", `moved ${before > rank ? "up" : "down"}`, `${before > rank ? "▲" : "▼"} ${before} in ${first}`);
}
