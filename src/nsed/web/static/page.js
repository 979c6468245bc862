// The page of `nsed serve`. The address says everything: which view, which model, what was asked. Text that people or
// models wrote is only ever put in as text; the one piece of HTML comes from the server, which escapes it.

const $ = (selector) => document.querySelector(selector);
const VIEWS = ["transduce", "match", "rules"];
const TITLES = { transduce: "Transduce", match: "Match", rules: "Rules" };
const HOW = {
  transduce: "No model of this server writes strings. Start it with one that does: nsed serve g2p-en",
  match: "No model of this server decides about pairs. Train a matcher with nsed train --model matcher pairs.tsv FOLDER, and start the server with it: nsed serve FOLDER",
  rules: "No model of this server has edit operations, so that there are no rules to show.",
};
let known = { models: [], limits: {} };
let shown = { text: "", json: null }; // what the buttons copy
let turn = 0; // answers that come after another question was asked are dropped

// ---- small tools

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const isolated = (text, kind = "") => element("bdi", { dir: "auto", class: kind }, text || "∅");
const operations = (text) => element("bdi", { dir: "ltr" }, text); // the arrow points right in every script
const inline = (text) => `\u2068${text}\u2069`; // isolated, where there are no elements
const percent = (share) => (share > 0 && share < 0.0005 ? "< 0.1\u00a0%" : `${(100 * share).toFixed(1)}\u00a0%`);

function tell(message, bad = false) {
  $("#status").textContent = message;
  $("#status").classList.toggle("bad", bad);
}

async function ask(path, body) {
  const key = sessionStorage.getItem("key"), headers = key ? { Authorization: `Bearer ${key}` } : {};
  const options = body ? { method: "POST", headers: { ...headers, "Content-Type": "application/json" }, body: JSON.stringify(body) } : { headers };
  const response = await fetch(path, options);
  const answer = await response.json().catch(() => ({}));
  $("#key-form").hidden = response.status !== 401;
  if (response.status === 401) throw new Error(key ? "This is no key of this server." : "This server wants an API key.");
  if (!response.ok) throw new Error(answer.error?.message ?? `the server answered ${response.status}`);
  return answer;
}

// ---- the address

function state() {
  const view = location.hash.slice(1);
  return { view: VIEWS.includes(view) ? view : "transduce", ...Object.fromEntries(new URLSearchParams(location.search)) };
}

function address({ view, ...asked }) {
  const given = Object.entries(asked).filter(([, value]) => value !== "" && value != null);
  return `${location.pathname}?${new URLSearchParams(given)}#${view}`;
}

function go(next, { replace = false } = {}) {
  history[replace ? "replaceState" : "pushState"](null, "", address(next));
  return show();
}

// ---- what the address says

const able = (view) => known.models.filter((model) => model.abilities.includes(view));
const chosen = ({ view, model }) => able(view).find((one) => one.name === model) ?? able(view)[0];

async function show({ focus = false } = {}) {
  const now = state(), model = chosen(now), mine = ++turn;
  showView(now, model);
  showExamples(now, model);
  for (const part of ["#results", "#why"]) $(part).hidden = true;
  tell("");
  if (!model) return;
  const run = { transduce: showTransduction, match: showMatch, rules: showRules }[now.view];
  try {
    if (await run({ ...now, model: model.name }, () => mine === turn) && focus && mine === turn) $("#results-title").focus();
  } catch (error) {
    if (mine === turn) tell(error.message, true);
  }
}

function showView(now, model) {
  document.title = `${TITLES[now.view]} – Neural String Edit Distance`;
  for (const link of document.querySelectorAll("[data-view]")) {
    const current = link.dataset.view === now.view;
    current ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
    link.href = address({ view: link.dataset.view, model: now.model });
  }
  for (const panel of document.querySelectorAll("[data-panel]")) panel.hidden = panel.dataset.panel !== now.view || !model;
  $("#missing").hidden = Boolean(model);
  $("#missing").textContent = HOW[now.view];
  $(".model").hidden = !model;
  $("#model").replaceChildren(...able(now.view).map((one) => element("option", { value: one.name }, one.name)));
  $("#model").value = model?.name ?? "";
  $("#about").textContent = !model || model.title === model.name ? "" : model.title;
  const form = $(`#${now.view}-form`);
  for (const field of form.elements) if (field.name) field.value = now[field.name] ?? field.defaultValue ?? field.options[0].value;
}

function showExamples(now, model) {
  const examples = (model?.examples ?? []).filter((one) => now.view === "transduce" || (now.view === "match" && one.target));
  $("#examples").hidden = !examples.length;
  $("#examples").replaceChildren(element("span", {}, "Try"), ...examples.map(({ source, target }) => {
    const asked = now.view === "match" ? { source, target } : { text: source };
    const link = element("a", { href: address({ view: now.view, model: model.name, ...asked }) }, isolated(source));
    if (now.view === "match") link.append(" – ", isolated(target));
    return link;
  }));
}

// ---- transduce

async function showTransduction({ model, text, nbest, pick }, current) {
  if (!text) return false;
  tell("Working …");
  const answer = await ask("/api/transduce", { model, sources: [text], nbest: Number(nbest || 5), scripts: true });
  if (!current()) return false;
  const [{ answers, unknown }] = answer.results;
  shown = { text: answers.map((one) => `${text}\t${one.target}\t${one.log_prob}`).join("\n"), json: answer };
  $("#answer").replaceChildren(element("ol", { class: "candidates" }, ...answers.map(candidate)));
  if (unknown.length) $("#answer").append(unknownNote(unknown));
  showResults("Answers");
  const count = answers.length === 1 ? "1 answer" : `${answers.length} answers`;
  tell(answers.length ? `${count}, the first is ${inline(answers[0].target)}, ${percent(answers[0].probability)}.` : "The model has no answer.");
  const first = answers.find((one) => one.target === pick) ?? answers[0];
  if (first && explains(model)) await explain(first.target, current);
  return true;
}

const explains = (name) => known.models.find((one) => one.name === name).abilities.includes("explain");

function candidate(one) {
  const filled = element("div");
  filled.style.width = `${100 * one.probability}%`;
  const name = element("span", { class: "target" }, isolated(one.target));
  if (one.override) name.append(element("span", { class: "mark" }, "override"));
  const button = element("button", { type: "button", "aria-pressed": "false", "data-target": one.target }, name,
    element("span", { class: "amount", "aria-hidden": "true" }, filled),
    element("span", { class: "percent" }, one.log_prob === null ? "–" : percent(one.probability)));
  if (one.script) button.append(element("span", { class: "script", dir: "ltr" }, one.script.text));
  button.addEventListener("click", () => choose(one.target));
  return element("li", {}, button);
}

function unknownNote(unknown) {
  return element("p", { class: "note" }, "The model has never seen: ", ...unknown.flatMap((one) => [isolated(one), " "]));
}

async function choose(target) {
  history.replaceState(null, "", address({ ...state(), pick: target }));
  const mine = ++turn;
  try {
    await explain(target, () => mine === turn);
    if (mine === turn) $("#why-title").focus();
  } catch (error) {
    if (mine === turn) tell(error.message, true);
  }
}

async function explain(target, current) {
  const now = state();
  for (const button of document.querySelectorAll(".candidates button"))
    button.setAttribute("aria-pressed", String(button.dataset.target === target));
  const answer = await ask("/api/explain", { model: chosen(now).name, source: now.text ?? now.source, target, html: true });
  if (!current()) return;
  showExplanation(answer);
}

function showExplanation({ html, source, target, override }) {
  $("#explanation").innerHTML = html; // escaped by the server
  const part = $("#explanation .nsed-explanation");
  for (const [name, value] of [["tabindex", "0"], ["role", "region"], ["aria-label", "Explanation"]]) part.setAttribute(name, value);
  for (const details of part.querySelectorAll("details")) details.open = true;
  const title = ["Why ", isolated(source), " becomes ", isolated(target)];
  $("#why-title").replaceChildren(...title, ...(override ? [element("span", { class: "mark" }, "override")] : []));
  $("#why").hidden = false;
}

function showResults(title) {
  $("#results-title").textContent = title;
  $("#results").hidden = false;
}

// ---- match

async function showMatch({ model, source, target }, current) {
  if (!source || !target) return false;
  tell("Working …");
  const answer = await ask("/api/match", { model, pairs: [{ source, target }] });
  if (!current()) return false;
  const [{ match, probability, score, threshold, threshold_probability: border }] = answer.results;
  const word = match ? "match" : "no match";
  shown = { text: `${source}\t${target}\t${word}\t${probability}`, json: answer };
  const sign = element("strong", { class: "mark" }, `${match ? "✓" : "✗"} ${word}`);
  $("#answer").replaceChildren(element("p", { class: "verdict" }, isolated(source), " and ", isolated(target), " ", sign, ` probability ${percent(probability)}`));
  showResults("Decision");
  tell(`${word}, probability ${percent(probability)} (a match from ${percent(border)} on), score ${score?.toFixed(2)}, threshold ${threshold.toFixed(2)}.`);
  if (explains(model)) await explain(target, current);
  if (explains(model) && current()) $("#why-title").replaceChildren("Why ", word);
  return true;
}

// ---- rules

async function showRules({ model, pairs, by, top }, current) {
  tell("Working …");
  const given = (pairs ?? "").split("\n").filter((line) => line.trim()).map((line) => {
    const [source, target = ""] = line.split(line.includes("\t") ? "\t" : "=").map((part) => part.trim());
    return { source, target };
  });
  const asked = { model, by: by || "support", top: Number(top || 30), pairs: given.length ? given : null };
  const answer = await ask("/api/rules", asked);
  if (!current()) return false;
  shown = { text: answer.rules.map((one) => [one.rule, one.count, one.probability, one.told].join("\t")).join("\n"), json: answer };
  const where = answer.pairs ? `, counted in ${answer.pairs} pairs` : ", of the weights";
  $("#answer").replaceChildren(rulesTable(answer.rules, `${answer.rules.length} of ${answer.total} rules${where}`));
  showResults("Rules");
  tell(`${answer.rules.length} rules.`);
  return true;
}

function rulesTable(rules, caption) {
  const heads = ["rule", "count", "probability", "surprise", "where", "examples"];
  const head = element("tr", {}, ...heads.map((name, at) => element("th", { scope: "col", class: at > 0 && at < 4 ? "number" : "" }, name)));
  const table = element("table", { class: "rules" }, element("caption", {}, caption), element("thead", {}, head), element("tbody", {}, ...rules.map(ruleRow)));
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Rules" }, table);
}

function ruleRow(rule) {
  const numbers = [rule.opportunities ? rule.count.toFixed(1) : "–", percent(rule.probability), rule.contexts.length ? rule.surprise.toFixed(0) : "–"];
  const examples = rule.examples.slice(0, 3).flatMap(({ source, target }) =>
    [element("span", { class: "example" }, isolated(source), " → ", isolated(target)), " "]);
  return element("tr", {}, element("td", {}, operations(rule.rule)), ...numbers.map((one) => element("td", { class: "number" }, one)),
    element("td", { class: "where" }, operations(rule.told || "–")), element("td", {}, ...examples));
}

// ---- copying

async function copy(kind) {
  const link = new URL(address(state()), location.href).href;
  const text = { text: shown.text, json: JSON.stringify(shown.json, null, 2), link }[kind];
  try {
    await navigator.clipboard.writeText(text);
    tell("Copied.");
  } catch {
    tell("The browser does not let this page copy.", true);
  }
}

// ---- what people do

for (const view of VIEWS) {
  $(`#${view}-form`).addEventListener("submit", (event) => {
    event.preventDefault();
    history.pushState(null, "", address({ view, model: $("#model").value, ...Object.fromEntries(new FormData(event.target)) }));
    show({ focus: true });
  });
}
$("#model").addEventListener("change", (event) => go({ ...state(), model: event.target.value, pick: "" }));
for (const button of document.querySelectorAll("[data-copy]")) button.addEventListener("click", () => copy(button.dataset.copy));
document.addEventListener("click", (event) => {
  const link = event.target.closest("nav a, #examples a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  history.pushState(null, "", link.href);
  show();
});
window.addEventListener("popstate", () => show());
$("#key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("key", new FormData(event.target).get("key").trim()); // until this tab is closed
  event.target.reset();
  begin();
});

async function begin() {
  try {
    known = await ask("/api/models");
    $("#limits").textContent = `At most ${known.limits.items} strings of ${known.limits.length} characters at once.` +
      (known.overrides ? ` Overrides, which come before what models say: ${known.overrides}.` : "");
    await show();
  } catch (error) {
    $(".model").hidden = !known.models.length;
    tell(error.message, true);
    if (!$("#key-form").hidden) $("#key-form").elements.key.focus();
  }
}

await begin();
