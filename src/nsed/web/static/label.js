// The page of nsed label: shows the question, sends the answer, shows the learning curve.
const id = (name) => document.getElementById(name);
const NOTES = {
  true: "On held-out pairs.",
  false: "An estimate for all pairs, by the probabilities that the answers give.",
};
let question = null;
let busy = false;

async function ask(path, body) {
  const options = body === undefined ? {} : { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(path, options);
  const found = await response.json();
  if (!response.ok) throw new Error(found.error.message);
  return found;
}

function show(state) {
  question = state.question;
  id("source").textContent = question ? question.source : "";
  id("target").textContent = question ? question.target : "";
  id("question").hidden = !question;
  id("over").hidden = Boolean(question);
  for (const name of ["yes", "no", "skip"]) id("answers").elements[name].disabled = !question;
  id("learning-curve").replaceChildren(...state.learning_curve.map(row));
  id("learning-curve-note").textContent = state.learning_curve.length ? NOTES[state.learning_curve[0].held_out] : "The first training has not ended yet.";
  const written = state.model ? `The Matcher is in ${state.model}.` : "";
  tell(`${state.answers} answers, ${state.matches} of them matches. ${state.training ? "Training goes on. " : ""}${written}`);
}

function row(point) {
  const made = document.createElement("tr");
  for (const text of [point.answers, `${(100 * point.f1).toFixed(1)} %`]) {
    const cell = document.createElement("td");
    cell.textContent = text;
    made.append(cell);
  }
  return made;
}

function tell(text, bad = false) {
  id("status").textContent = text;
  id("status").classList.toggle("bad", bad);
}

async function act(path, body) {
  if (busy) return;
  busy = true;
  try {
    show(await ask(path, body));
  } catch (error) {
    tell(error.message, true);
  } finally {
    busy = false;
  }
}

const answer = (given) => act("/api/answer", { row: question ? question.row : 0, answer: given });

id("answers").addEventListener("submit", (event) => {
  event.preventDefault();
  answer(event.submitter.name);
});
id("finish").addEventListener("submit", (event) => {
  event.preventDefault();
  tell("Learning from all answers and all pairs: this takes a minute or more.");
  act("/api/finish", {});
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  const given = { y: "yes", n: "no", s: "skip", u: "undo" }[event.key.toLowerCase()];
  if (given && (question || given === "undo")) {
    event.preventDefault();
    answer(given);
  }
});
act("/api/question");
