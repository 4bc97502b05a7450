// The page of an exploration: `mcpmock report run.jsonl`, of what `mcpmock explore --json` wrote.

const SIGNS = { broken: "✕", odd: "!", ok: "✓", unreached: "○" };
const MEANINGS = { broken: "broken", odd: "odd, but allowed", ok: "nothing is broken", unreached: "never reached" };
let data = null, open = null;

const verdictOf = (runs) => Object.keys(SIGNS).find((verdict) => runs.some((i) => data.runs[i][5] === verdict)) || "ok";

function drawGrid(grid) {
	const head = el("tr", el("th", { scope: "col" }, "message"), grid.kinds.map((kind) => el("th", { scope: "col" }, el(grid.kinds.length > 1 ? "span" : "b", kind.replace(/^cancel_/, "").replaceAll("_", " ")))));
	const body = grid.rows.map(([message, cells]) => el("tr", el("th", { scope: "row" }, message), cells.map((runs, column) => {
		if (!runs.length) return el("td.none", { title: "Not tried" }, el("span", "·"));
		const verdict = verdictOf(runs), bad = runs.filter((i) => data.runs[i][5] === verdict).length, label = `${plain(message)}, ${plain(grid.kinds[column])}: ${MEANINGS[verdict]}, ${bad} of ${many(runs.length, "run")}`;
		const text = SIGNS[verdict] + (runs.length > 1 ? ` ${bad < runs.length ? bad + "/" : ""}${runs.length}` : "");
		return el("td." + verdict, el("button." + verdict, { title: label, "aria-label": text + " " + label, "aria-pressed": "false", onclick: (event) => show(event.currentTarget, label, runs) }, text));
	})));
	return [el("h2", grid.title), el("div.scroll", { tabindex: 0, role: "group", "aria-label": grid.title }, el("table", { "aria-label": grid.title }, el("thead", head), el("tbody", body)))];
}

function drawFailure(one) {
	return el("div.failure", { id: "failure-" + one.n, tabindex: -1 },
		el("p", el("b", `${one.n}. ${one.text}`)),
		el("p", one.shrunk),
		one.cites && el("blockquote", one.cites),
		el("p.cut", `${one.oracle}${one.place ? " at " + one.place : ""}; ${many(one.rows, "run")} failed so; run again: ${one.again}${one.confirmed ? "" : "; not counted: this machine may have been too busy"}`),
		el("div.tools", one.command && el("button", { title: plain(one.command), onclick: (event) => copy(event.target, plain(one.command)) }, "Copy the command that repeats it"),
			el("button", { onclick: (event) => show(event.target, `Runs of failure ${one.n}`, [...data.runs.keys()].filter((i) => data.runs[i][7] === one.n)) }, "Its runs")),
		one.cassette && el("p.cut", "recording: ", one.cassette));
}

// List runs beside the grid.
function show(button, title, runs) {
	close(false);
	open = button;
	button.setAttribute("aria-pressed", "true");
	const pane = $("detail");
	pane.replaceChildren(el("div.top", el("h2", title), el("button", { "aria-label": "Close", onclick: () => close(true) }, "✕")), el("ul.runs", runs.slice(0, 500).map((i) => {
		const [n, message, kind, at, reaction, verdict, oracle, failure] = data.runs[i];
		return el("li", el("p", el("b." + verdict, `${SIGNS[verdict] || ""} ${n}. ${kind} `), at),
			el("p.cut", message, ": ", MEANINGS[verdict] || verdict, oracle && ` (${oracle})`, reaction && `; reaction: ${reaction}`),
			verdict === "unreached" && el("p", "Its place never came: the other side had sent more or less by then, or ended before."),
			failure != null && el("p", el("button", { onclick: () => { $("failure-" + failure).scrollIntoView(); $("failure-" + failure).focus(); } }, `Failure ${failure}`)));
	})));
	put(pane, runs.length > 500 && el("p.cut", `and ${many(runs.length - 500, "more run")}`));
	pane.hidden = false;
	pane.scrollTop = pane.parentNode.scrollTop = 0;
}

function close(back) {
	$("detail").hidden = true;
	if (!open) return;
	open.setAttribute("aria-pressed", "false");
	if (back) open.focus();
	open = null;
}

// Arrows move through the cells of a grid, n and p to the next and previous broken one.
function onKey(event) {
	if (event.ctrlKey || event.metaKey || event.altKey) return;
	const here = document.activeElement, cell = here.closest("td"), broken = [...document.querySelectorAll("button.broken")], at = broken.indexOf(here);
	const beside = (row, column) => row?.cells[column]?.querySelector("button");
	const walk = (cells, from, by) => { for (let i = from + by; i >= 0 && i < cells.length; i += by) { const found = cells[i].querySelector("button"); if (found) return found; } };
	const rows = cell && [...cell.parentNode.parentNode.rows], row = cell && cell.parentNode;
	const column = (by) => { for (let i = row.sectionRowIndex + by; rows[i]; i += by) if (beside(rows[i], cell.cellIndex)) return beside(rows[i], cell.cellIndex); };
	const next = {
		ArrowRight: () => cell && walk(row.cells, cell.cellIndex, 1), ArrowLeft: () => cell && walk(row.cells, cell.cellIndex, -1),
		ArrowDown: () => cell && column(1), ArrowUp: () => cell && column(-1),
		n: () => broken[at + 1], p: () => broken[at < 0 ? broken.length - 1 : at - 1],
	}[event.key]?.();
	if (next) { event.preventDefault(); next.focus(); }
	if (event.key === "Escape") close(true);
}

async function start() {
	data = await readData();
	$("data").remove();
	put($("name"), data.file);
	put($("subject"), data.subject.join(" · "));
	put($("happened"), data.happened);
	put($("chips"), ...data.chips.map(([text, kind]) => el("span", { class: "chip " + kind }, text)));
	put($("legend"), ...Object.entries(SIGNS).flatMap(([verdict, sign]) => [el("span.sign", el("b." + verdict, sign), " ", MEANINGS[verdict]), " "]), el("span.sign", "· not tried"),
		" Arrows move, n and p find what is broken, Enter lists the runs.");
	const pane = $("found");
	put(pane, el("h2", data.found), ...data.failures.map(drawFailure));
	if (data.baseline.length) put(pane, el("h2", "In the recorded order too"), el("ul.why", data.baseline.map(([oracle, text]) => el("li", `${text} [${oracle}]`))));
	for (const grid of data.grids) put($("grids"), ...drawGrid(grid));
	if (data.untried.length) put(pane, el("h2", "What could never be reached, and why"), el("ul.why", data.untried.map(([message, why]) => el("li", el("b", message), ": ", why))));
	document.addEventListener("keydown", onKey);
	document.documentElement.dataset.ready = "yes";
}

start().catch(fail);
