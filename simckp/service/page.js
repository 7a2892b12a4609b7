"use strict";
// Asks the service for every scored phrase once; the slider then only filters what is here.
const $ = (id) => document.getElementById(id);
let answer = null;
let least = null; // the least probability; null: as the model chooses

$("form").addEventListener("submit", (event) => { event.preventDefault(); find(); });
$("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); $("form").requestSubmit(); }
});
$("least").addEventListener("input", () => { least = Number($("least").value); show(); });
$("own").addEventListener("click", () => { least = null; show(); });

$("file").addEventListener("change", () => { if ($("file").files.length) open($("file").files[0]); });
$("text").addEventListener("dragover", (event) => { event.preventDefault(); $("text").classList.add("over"); });
$("text").addEventListener("dragleave", () => $("text").classList.remove("over"));
$("text").addEventListener("drop", (event) => {
  $("text").classList.remove("over");
  if (event.dataTransfer.files.length) { event.preventDefault(); open(event.dataTransfer.files[0]); }
});
$("save-csv").addEventListener("click", () => save("keyphrases.csv", "text/csv", csv));
$("save-json").addEventListener("click", () => save("keyphrases.json", "application/json", json));
$("save-bib").addEventListener("click", () => save("keywords.bib", "application/x-bibtex", bibtex));

// A text file is read here, the text of a PDF by the service.
async function open(file) {
  say(`Opening ${file.name} …`);
  try {
    if (file.type === "application/pdf" || /\.pdf$/i.test(file.name)) {
      const response = await fetch("text", { method: "POST", headers: { "Content-Type": "application/pdf" }, body: file });
      const found = await response.json();
      if (!response.ok) throw new Error(found.detail);
      $("text").value = found.text;
    } else {
      $("text").value = await file.text();
    }
    say(`${file.name} is open: ${$("text").value.length} characters.`);
    $("text").focus();
  } catch (error) {
    say(`${file.name} was not opened: ${error.message}`, true);
  }
}

const shown = () => answer.phrases.filter(isGiven);
const quoted = (value) => `"${String(value).replaceAll('"', '""')}"`;
const csv = () => [
  "phrase,kind,score,similarity,occurrences,variants",
  ...shown().map((phrase) => [quoted(phrase.phrase), phrase.kind, phrase.score, phrase.similarity, phrase.spans.length,
    quoted(phrase.variants.join(";"))].join(",")),
].join("\n") + "\n";
const json = () => JSON.stringify(shown(), null, 2) + "\n";
const bibtex = () => `keywords = {${shown().map((phrase) => phrase.phrase.replace(/[{}\\]/g, "")).join("; ")}}\n`;

function save(name, type, content) {
  const link = element("a", "");
  link.href = URL.createObjectURL(new Blob([content()], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

async function find() {
  $("find").disabled = true;
  say("Reading …");
  const begun = performance.now();
  try {
    const kinds = $("absent").checked ? ["present", "absent"] : ["present"];
    const response = await fetch("predict", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ text: $("text").value, kinds, every_score: true }),
    });
    const found = await response.json();
    if (!response.ok) throw new Error(found.detail);
    answer = found;
    least = null;
    scale();
    show();
    say(`Done in ${((performance.now() - begun) / 1000).toFixed(1)} s.`);
  } catch (error) {
    $("result").hidden = true;
    say(`No keyphrases: ${error.message}`, true);
  } finally {
    $("find").disabled = false;
  }
}

function say(text, problem = false) {
  $("status").textContent = text;
  $("status").classList.toggle("problem", problem);
}

function scale() {
  const scores = answer.phrases.map((phrase) => phrase.score);
  const slider = $("least");
  slider.disabled = scores.length === 0;
  if (scores.length === 0) return;
  slider.min = (Math.floor(Math.min(...scores) * 100) - 1) / 100;
  slider.max = Math.ceil(Math.max(...scores) * 100) / 100;
  slider.step = 0.01;
}

const isGiven = (phrase) => (least === null ? phrase.chosen : phrase.part_of === null && phrase.score >= least);

function show() {
  $("result").hidden = false;
  const given = answer.phrases.filter(isGiven);
  const present = given.filter((phrase) => phrase.kind === "present");
  const absent = given.filter((phrase) => phrase.kind === "absent");
  if (least === null && given.length) {
    $("least").value = Math.min(...given.map((phrase) => phrase.score));
  }
  $("said").textContent = least === null ? "as the model chooses" : `from ${least.toFixed(2)}`;
  list("present", present);
  list("absent", absent);
  $("absent-part").hidden = !$("absent").checked;
  mark(present);
  $("warnings").replaceChildren(...answer.warnings.map((warning) => element("li", warning)));
}

function list(kind, phrases) {
  const more = least === null && answer.phrases.some((phrase) => phrase.kind === kind);
  const none = more ? "none is probable enough; the slider shows more" : "none";
  $(`${kind}-count`).textContent = `(${phrases.length || none})`;
  $(`${kind}-list`).replaceChildren(...phrases.map((phrase) => {
    const item = element("li", phrase.phrase);
    item.append(element("span", phrase.score.toFixed(2)));
    item.title = `similarity ${phrase.similarity.toFixed(3)}`;
    if (phrase.variants.length) item.append(element("small", `also ${phrase.variants.join(", ")}`));
    return item;
  }));
}

// Spans count code points and may overlap: each place is as strong as its best phrase.
function mark(phrases) {
  const letters = Array.from(answer.text);
  const strength = new Array(letters.length).fill(0);
  const scores = phrases.map((phrase) => phrase.score);
  const [low, high] = [Math.min(...scores), Math.max(...scores)];
  for (const phrase of phrases) {
    const share = high > low ? (phrase.score - low) / (high - low) : 1;
    for (const { start, end } of phrase.spans) {
      for (let at = start; at < end; at += 1) strength[at] = Math.max(strength[at], 0.12 + 0.63 * share);
    }
  }
  const parts = [];
  for (let start = 0, at = 1; at <= letters.length; at += 1) {
    if (at < letters.length && strength[at] === strength[start]) continue;
    const piece = letters.slice(start, at).join("");
    if (strength[start] === 0) {
      parts.push(document.createTextNode(piece));
    } else {
      const marked = element("mark", piece);
      marked.style.backgroundColor = `rgba(var(--mark), ${strength[start].toFixed(3)})`;
      parts.push(marked);
    }
    start = at;
  }
  $("marked").replaceChildren(...parts);
}

function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}
