// How the model wrote the keys, as a tree: what the index allowed, and what the model wanted.

import { bar, make, number, percent, plural, unseen, visible } from "./dom.js";

const NAMES = { body: "What a passage might say", title: "What its title might be" };
const LEAVES = 5; // continuations of an n-gram that are shown though they did not go on

export function treeOf(decoding) {
  const parts = decoding.kinds.map(({ kind, steps }) => kindPart(kind, steps));
  if (!parts.length) {
    parts.push(make("p", "", "Nothing was written for this question."));
  }
  if (decoding.truncated) {
    parts.push(make("p", "faint", "There were more steps than are recorded."));
  }
  return [legend(), ...parts];
}

function legend() {
  return make(
    "p", "faint",
    "Each line is a token that was written after the one it hangs on. P is the model's probability of the whole n-gram, "
    + "F how often that occurs in the collection, the bar the probability of the token alone. Wanted are the model's best "
    + "next tokens: ",
    make("span", "token", "occurs there"), ", ", make("s", "token no", "does not"), ".",
  );
}

function kindPart(kind, steps) {
  const hypotheses = new Map(steps.flatMap((step) => step.hypotheses.map((each) => [each.id, each])));
  const following = new Map();
  for (const each of steps.flatMap((step) => step.continuations)) {
    following.set(each.parent, [...(following.get(each.parent) ?? []), each]);
  }
  const roots = steps.length ? steps[0].hypotheses : [];
  const heading = make("h2", "", NAMES[kind] ?? `Field ${kind}`, " ", make("span", "kind", kind));
  return make("section", "written", heading, ...roots.map((root) => rootPart(root, hypotheses, following)));
}

function rootPart(root, hypotheses, following) {
  return make("div", "", wanted(root), children(root, hypotheses, following));
}

function children(hypothesis, hypotheses, following) {
  const all = following.get(hypothesis.id) ?? [];
  const going = all.filter((each) => each.hypothesis !== null);
  const others = all.filter((each) => each.hypothesis === null);
  const items = [...going, ...others.slice(0, LEAVES)].map((each) => {
    const next = each.hypothesis === null ? undefined : hypotheses.get(each.hypothesis);
    if (next === undefined) {
      return make("li", going.includes(each) ? "" : "ended", line(each, hypothesis));
    }
    const node = make("details", "", make("summary", "", line(each, hypothesis)), wanted(next), children(next, hypotheses, following));
    node.open = true;
    return make("li", "", node);
  });
  if (others.length > LEAVES) {
    items.push(make("li", "ended faint", `${plural(others.length - LEAVES, "further continuation")} that did not go on`));
  }
  return make("ul", "tree", ...items);
}

function line({ text, logprob, count, ends, hypothesis }, before) {
  const token = make("span", "token", ends ? "end" : visible(text));
  const told = make("span", "faint", ` P ${short(Math.exp(logprob))} · F ${number(count)}`);
  const state = hypothesis === null ? unseen(ends ? ", complete" : ", did not go on") : "";
  return make("span", "node", token, told, bar(Math.exp(logprob - before.logprob)), state);
}

const short = (p) => (p >= 0.001 ? p.toFixed(3) : p.toExponential(0));

function wanted({ n_allowed, allowed_mass, wanted: best, refused }) {
  const known = new Set(best.map((token) => token.text));
  const tokens = [...best, ...refused.filter((token) => !known.has(token.text))].slice(0, 8);
  const told = `${number(n_allowed)} may follow, ${percent(allowed_mass)} of P; wanted: `;
  return make("p", "wanted", make("span", "faint", told), ...tokens.flatMap((token) => [chip(token), " "]));
}

function chip({ text, logprob, allowed }) {
  const made = make(allowed ? "span" : "s", allowed ? "token" : "token no", visible(text));
  made.title = `${percent(Math.exp(logprob), 1)}, ${allowed ? "occurs there" : "does not occur there"}`;
  if (!allowed) {
    made.append(unseen(" (does not occur)"));
  }
  return made;
}
