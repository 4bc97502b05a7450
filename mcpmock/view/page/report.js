// The page of `mcpmock report`, also as `mcpmock watch` serves it.

const MAX_LINES = 20000, LINES_AT_ONCE = 300, MAX_SHOWN = 65536, MAX_STRING = 4000;
// Microseconds.
const NEAR = 20000;
const KINDS = "request response error notification opaque stderr end http sse body fault gap auth".split(" ");
const DIRECTIONS = ["", "c2s", "s2c"];
const SECRET = /mcpmock:secret:[\w-]+:\d+/g;

// ---- a recording

// The rows of a recording in columns, and what is found by them.
class Recording {
	constructor(data) {
		Object.assign(this, { size: 0, c: null, answers: [], ends: [], leads: [], groups: new Map(), children: new Map(), inside: new Map(), exchanges: new Map(), byEvent: new Map(), problemRows: new Set(), cancelled: new Map(), levels: new Map(), wrong: [] });
		this.append(data);
	}

	// Take in rows that come behind those of before; what is not in columns is that of all rows.
	append(data) {
		const { folds = [], starts = [], paths } = this;
		Object.assign(this, data, { folds: folds.concat(data.folds), starts: starts.concat(data.starts), paths: { ...paths, ...data.paths } });
		if (this.c) for (const [name, values] of Object.entries(data.rows)) for (const value of values) this.c[name].push(value);
		const c = (this.c ??= data.rows), start = this.size;
		this.size = c.n.length;
		this.u = c.u;
		for (let i = start; i < this.size; i++) {
			const call = c.call[i], kind = this.kind(i);
			this.answers.push(-1);
			// Of a call: where its answer, or what was last said of it, stands.
			this.ends.push(0);
			this.leads.push(i + c.lead[i]);
			if (c.lead[i]) add(this.groups, this.leads[i], i);
			if (!c.item[i]) this.byEvent.set(c.take[i] + ":" + c.n[i], i);
			if (call != null && call !== i) {
				add(this.children, call, i);
				if ((kind === "response" || kind === "error") && this.answers[call] < 0) this.answers[call] = i;
			}
			if (call != null) this.ends[call] = c.u[i];
			if (c.within[i] != null) add(this.inside, c.within[i], i);
			if (c.x[i] != null) add(this.exchanges, c.take[i] + ":" + c.x[i], i);
		}
		for (const i of data.solved) this.problemRows.delete(this.leads[i]);
		for (const i of data.problems) this.problemRows.add(this.leads[i]);
		for (const race of data.races) this.cancelled.set(race.call, race);
		for (const violation of data.violations) {
			violation.row = this.leads[this.byEvent.get(violation.take + ":" + violation.n)];
			add(this.levels, violation.row, violation.level);
			this.wrong.push(violation);
		}
		this.hay = undefined;
		this.sessions = new Set(this.lanes.filter((lane) => lane[1] < 3).map((lane) => lane[0])).size;
	}

	// What the row says, in one line or, of the log, in several.
	text(i) {
		const text = this.c.summary[i] || (this.kind(i) === "opaque" ? "(no data)" : ""), tool = this.tool(i) + " ";
		if (this.kind(i) !== "stderr") return text.startsWith(tool) ? text.slice(tool.length) : text;
		return [i, ...(this.groups.get(i) || [])].map((row) => this.c.raw[row]).join("").trimEnd();
	}

	line(i) { return this.c.line[i] == null ? null : this.lanes[this.c.line[i] >> 3][2] + (this.c.line[i] & 7); }
	kind(i) { return this.c.kinds[this.c.kind[i]]; }
	method(i) { return this.c.methods[this.c.method[i]]; }
	tool(i) { return this.c.tools[this.c.tool[i]]; }

	// The payloads in lower case, each on a line of its own, with where each begins.
	haystack() {
		if (this.hay === undefined) {
			const lower = this.c.raw.map((_, i) => this.hayOf(i));
			this.begins = new Float64Array(this.size + 1);
			lower.forEach((line, i) => { this.begins[i + 1] = this.begins[i] + line.length + 1; });
			this.hay = lower.join("\n");
		}
		return this.hay;
	}

	hayOf(i) { return (this.c.raw[i] + " " + this.c.summary[i]).toLowerCase().replaceAll("\n", " "); }

	// The rows that hold a text, upper or lower case.
	search(text) {
		const found = new Uint8Array(this.size), hay = this.haystack(), needle = text.toLowerCase();
		let i = 0;
		for (let at = hay.indexOf(needle); at >= 0; at = hay.indexOf(needle, this.begins[i])) {
			i = bisect(this.begins, at + 1);
			found[i - 1] = 1;
			if (i >= this.size) break;
		}
		return found;
	}

	// Which of the three lenses an event is seen through.
	lens(row) {
		const i = this.leads[row], kind = this.kind(i), carried = kind === "end" || (kind === "opaque" && !this.c.raw[i]);
		return kind === "stderr" ? kind : ["http", "sse", "body"].includes(kind) || (carried && this.c.x[i] != null) ? "http" : "message";
	}

	callOf(i) { return this.kind(i) === "request" ? i : this.c.call[i] ?? -1; }
}

// The index of the first of sorted values that is not smaller.
function bisect(values, value) {
	let low = 0, high = values.length;
	while (low < high) { const middle = (low + high) >> 1; if (values[middle] < value) low = middle + 1; else high = middle; }
	return low;
}

function add(map, key, value) {
	const list = map.get(key);
	if (list) list.push(value); else map.set(key, [value]);
}

// ---- filters: the terms of `mcpmock show --filter`

const KEYS = "method tool kind dir id take s x status text level".split(" ");

// A shell's pattern as a regular expression.
function globPattern(glob) {
	return glob.replace(/\[(?:!([^][^\]]*)|([^!][^\]]*))\]|[^]/gu, (part, others, these) => {
		if (others ?? these) return `[${others ? "^" : ""}${(others ?? these).replace(/[\\\]^[]/g, "\\$&")}]`;
		return { "*": "[^]*", "?": "[^]" }[part] ?? part.replace(/[\\^$.|+(){}[\]]/, "\\$&");
	});
}

// A test of the rows behind `from`, made from the words of the box, and what looks like a term and
// is none; raises an Error that says what is wrong.
function compileQuery(query, rec, from) {
	const terms = [], rest = [];
	let stray;
	for (const word of query.split(/\s+/).filter(Boolean)) {
		const found = /^(!?)([a-z]+)=(.*)$/s.exec(word);
		if (found && KEYS.includes(found[2])) terms.push(found); else { rest.push(word); stray ??= found?.[2]; }
	}
	const tests = terms.map(([, not, key, glob]) => {
		const choices = { kind: KINDS, dir: DIRECTIONS }[key];
		const source = globPattern(key === "text" ? `*${glob}*` : glob);
		const pattern = new RegExp(`^(?:${source})$`, "u");
		if (choices && !choices.some((choice) => pattern.test(choice))) throw new Error(`no such ${key}: ${glob}`);
		const test = termTest(key, pattern, rec);
		return not ? (i) => !test(i) : test;
	});
	if (rest.length) {
		const text = rest.join(" "), hits = from ? null : rec.search(text);
		tests.push(hits ? (i) => hits[i] === 1 : (i) => rec.hayOf(i).includes(text.toLowerCase()));
	}
	return [tests.length && ((i) => tests.every((test) => test(i))), stray];
}

function termTest(key, pattern, rec) {
	const c = rec.c, words = { method: "methods", tool: "tools", kind: "kinds" }[key];
	if (words) {
		const fits = c[words].map((word) => word != null && (pattern.test(word) || (key === "kind" && word === "error" && pattern.test("response"))));
		return (i) => fits[c[key][i]];
	}
	if (key === "dir") return (i) => c.d[i] > 0 && pattern.test(DIRECTIONS[c.d[i]]);
	if (key === "id") return (i) => c.id[i] != null && (pattern.test(c.id[i]) || pattern.test(unquoted(c.id[i])));
	if (key === "level") return (i) => (rec.levels.get(i) || []).some((level) => pattern.test(level));
	if (key === "text") return (i) => pattern.test(c.raw[i] + "\n" + c.summary[i]);
	return (i) => c[key][i] != null && pattern.test(String(c[key][i]));
}

function unquoted(id) {
	if (id[0] !== '"') return id;
	try { return JSON.parse(id); } catch { return id; }
}

// ---- JSON as written, laid out in lines

const TOKEN = /\s*(?:("[^"\\]*(?:\\[^][^"\\]*)*")(\s*:)?|([{[])\s*([}\]])?|([}\]])|(,)|([^\s"{}[\],:]+))\s*/y;

// The lines of a JSON text, each with its depth, parts and, of an opening one, the line that closes
// it; null if it is not JSON. Numbers and strings stay as written. Not recursive: any depth may come.
function layOut(text) {
	const lines = [], open = [];
	let line, done = false, room = MAX_SHOWN;
	const begin = () => { line = { depth: open.length, parts: [], end: -1 }; };
	begin();
	TOKEN.lastIndex = 0;
	while (TOKEN.lastIndex < text.length && room > 0 && lines.length < MAX_LINES) {
		const [found, string, colon, opener, both, closer, comma, literal] = TOKEN.exec(text) || [];
		if (found === undefined || done) return null;
		if (closer) {
			if (line.parts.length) lines.push(line);
			const from = open.pop();
			if (from === undefined || (closer === "}") !== (lines[from].parts.at(-1)[1] === "{")) return null;
			begin();
			lines[from].end = lines.length;
		}
		if (string) line.parts.push([colon ? "key" : "str", string]);
		line.parts.push(literal ? ["lit", literal] : ["", colon ? ": " : opener ? opener + (both || "") : closer || comma || ""]);
		if (opener && !both) open.push(lines.length);
		if (comma || (opener && !both)) { lines.push(line); begin(); }
		done = !open.length && !comma;
		room -= Math.min(found.length, MAX_STRING);
	}
	const whole = TOKEN.lastIndex >= text.length;
	if (whole && !done) return null;
	if (line.parts.length) lines.push(line);
	for (const from of open) lines[from].end = lines.length;
	return { lines, whole };
}

// A payload, pretty-printed and foldable; `marks` are the lines to highlight, with a class.
function payloadView(text, size, marks = new Map()) {
	const box = el("div.json.mono");
	const laid = /^\s*[[{"]/.test(text) ? layOut(text) : null, whole = !size && (laid ? laid.whole : text.length <= MAX_SHOWN);
	const lines = laid ? laid.lines : text.slice(0, MAX_SHOWN).split("\n").map((part) => ({ depth: 0, parts: [["", part]], end: -1 }));
	const folded = new Set();
	if (lines.length > 200) lines.forEach((line, at) => { if (line.depth >= 3 && line.end - at > 12 && ![...marks.keys()].some((mark) => mark >= at && mark <= line.end)) folded.add(at); });
	let limit = LINES_AT_ONCE;
	const draw = () => {
		box.replaceChildren();
		let shown = 0, at = 0;
		for (; at < lines.length && shown < limit; at++, shown++) {
			const line = lines[at], here = at, row = el("div"), show = (part) => row.append(partView(...part));
			row.style.paddingLeft = 20 + 14 * Math.min(line.depth, 24) + "px";
			if (marks.has(at)) row.className = marks.get(at);
			if (line.end > at + 1) {
				const is = folded.has(at);
				row.append(el("button.fold", { "aria-expanded": String(!is), "aria-label": is ? "Unfold" : "Fold",
					onclick: () => { if (is) folded.delete(here); else folded.add(here); draw(); } }, is ? "▸" : "▾"));
			}
			line.parts.forEach(show);
			if (folded.has(at)) {
				put(row, el("span.cut", ` ${lines.slice(at + 1, at + 5).flatMap((next) => next.parts.map((part) => part[1])).join("").slice(0, 50)} … ${many(line.end - at - 1, "line")} `));
				lines[line.end]?.parts.forEach(show);
				at = line.end;
			}
			box.append(row);
		}
		if (at < lines.length) {
			box.append(el("div", el("button", { onclick: () => { limit += 5 * LINES_AT_ONCE; draw(); } }, many(lines.length - at, "more line"))));
		} else if (!whole) {
			box.append(el("div.cut", `Cut here: ${many(size || text.length, "character")} are in the cassette.`));
		}
	};
	draw();
	return box;
}

// How what is drawn inline begins in base64. Of SVG, which is markup, the text is shown.
const NOT_BASE64 = /[^\w+/=\s]/, IMAGES = [["png", /^iVBORw0KGgo/], ["jpeg", /^\/9j\//], ["gif", /^R0lGOD/], ["webp", /^UklGR.{7}RUJQ/]];

function partView(kind, text) {
	const made = el("span." + kind), value = kind === "str" ? unquoted(text) : "", [image] = (!NOT_BASE64.test(value) && IMAGES.find(([, start]) => start.test(value))) || [];
	const written = putStart(el("span"), text, image ? 50 : MAX_STRING);
	put(made, written, image && el("img", { src: `data:image/${image};base64,${value}`, alt: image }));
	if (value.includes("\n")) {
		const lines = putStart(el("pre"), value, MAX_STRING), button = el("button", { onclick: () => {
			lines.hidden = written.hidden;
			written.hidden = !lines.hidden;
			button.textContent = lines.hidden ? "as text" : "as written";
		} });
		button.onclick();
		put(made, button, lines);
	}
	return made;
}

// Append the start of a text, and a button that gives the rest.
function putStart(made, text, length) {
	putMarked(made, text.slice(0, length));
	return put(made, text.length > length && el("button", { onclick: (event) => event.target.replaceWith(el("span", text.slice(length))) }, many(text.length - length, "more character")));
}

// Append text with its placeholders of secrets marked.
function putMarked(made, text) {
	let last = 0;
	for (const found of text.matchAll(SECRET)) {
		put(made, text.slice(last, found.index), el("span.secret", { title: "Placeholder of a secret" }, found[0].slice(15)));
		last = found.index + found[0].length;
	}
	return put(made, text.slice(last));
}

// ---- state

let recordings = [], diff = null, tab = 0, rec = null;
// What the page is about, and the view that it opens on.
let about = {}, home = 0;
// Of a page that `mcpmock watch` serves.
let live = false, token = null, stream = null, below = 0;
let shown = [], counted = 0, chosen = -1, range = null, opened = false, split = 0, applied = 0, allTold = false;
// Whether a row fits the filter.
let fits = () => true;
// And the stretch of time, through whatever lens.
let matches = fits;
const hidden = new Set(["http"]), field = $("query");

const isDiff = () => tab === "diff";
const total = () => (isDiff() ? diff.differences.length : rec.size);

function ask(query) {
	field.value = query;
	applyQuery();
}

// What a chip filters by, with the first hit opened; or all again.
function pick(query) {
	$("list").focus();
	if (field.value === query) { ask(""); return; }
	ask(query);
	if (shown.length) { choose(shown[0]); openDetail(); }
}

// Choose the rows that are shown; those before `from` stay as they are.
function applyQuery(from = 0) {
	const query = field.value.trim();
	remember();
	let wrong = "";
	fits = () => true;
	if (isDiff()) fits = (i) => diff.differences[i].hay.includes(query.toLowerCase());
	else {
		try {
			const [test, stray] = compileQuery(query, rec, from);
			fits = test || fits;
			if (stray) wrong = `there is no term ${stray}`;
		} catch (error) { wrong = error.message; }
	}
	field.setAttribute("aria-invalid", String(!!wrong));
	matches = (i) => !(range && (rec.u[i] < range[0] || rec.u[i] > range[1])) && fits(i);
	if (!from) [shown, counted] = [[], 0];
	const named = /(^|\s)!?(kind|status|x|text|level)=/.test(query);
	for (let i = from; i < total(); i++) {
		// A term that names kinds decides itself which are shown.
		if (!isDiff() && !named && hidden.has(rec.lens(i))) continue;
		if (!matches(i)) continue;
		const lead = isDiff() ? i : rec.leads[i];
		if (shown.at(-1) !== lead) shown.push(lead);
		counted++;
	}
	applied = total();
	refill("count", wrong && el("b.k-error", wrong, ": "), isDiff() ? many(shown.length, "difference") : `${figure(counted)} of ${many(rec.size, "event")}`);
	$("nothing").hidden = shown.length > 0;
	$("why").textContent = applied ? "Nothing matches." : isDiff() ? `No differences in ${many(diff.calls, "call")}.` : rec.empty;
	$("clear").hidden = !applied;
	for (const chip of document.querySelectorAll("#chips button")) chip.ariaPressed = String(chip.dataset.q === query);
	$("list").setAttribute("aria-rowcount", shown.length + 1);
	$("rows").style.height = shown.length * rowHeight + "px";
	if (!from && shown[nearest(chosen)] === chosen) intoView();
	drawRows();
	if (!from) setTimeout(drawLanes);
}

// The index in `shown` of a row, or of the first behind it.
const nearest = (i) => bisect(shown, i);

// The time in its take at a place of the axis, also in a pause that is drawn shorter than it was.
function timeAt(u) {
	const { t, take } = rec.c, i = Math.max(bisect(rec.u, u + 1) - 1, 0), wide = rec.u[i + 1] - rec.u[i];
	return take[i + 1] === take[i] ? t[i] + ((u - rec.u[i]) / wide) * (t[i + 1] - t[i]) : t[i];
}

// ---- the list

const EVENT_COLUMNS = "#.num|time.num.c-time|kind|method, id|took.num.c-latency|content";
const DIFF_COLUMNS = "verdict|call, at, before → after";

function drawColumns() {
	const columns = (isDiff() ? DIFF_COLUMNS : EVENT_COLUMNS).split("|").map((column) => column.split("."));
	refill("columns", ...columns.map(([name, ...kinds]) => el(["span", ...kinds].join("."), { role: "columnheader" }, name)));
	document.body.classList.toggle("d", isDiff());
	if (!isDiff()) $("list").style.setProperty("--n", Math.max(4, String(rec.c.n[rec.size - 1]).length) + 0.5 + "ch");
	rowHeight = isDiff() ? 44 : 22;
}

function drawRows() {
	const list = $("list"), first = Math.max(0, Math.floor(list.scrollTop / rowHeight) - 4);
	const last = Math.min(shown.length, first + Math.ceil(list.clientHeight / rowHeight) + 10);
	const made = [];
	for (let at = first; at < last; at++) {
		const i = shown[at], row = isDiff() ? diffRow(i) : eventRow(i);
		row.style.top = at * rowHeight + "px";
		if (!isDiff() && rec.facts.length > 1 && rec.c.take[i] !== rec.c.take[shown[at - 1]]) {
			row.classList.add("first");
			row.lastChild.prepend(el("b", `take ${rec.c.take[i]} `));
		}
		attributes(row, { id: "r" + i, role: "row", "aria-rowindex": at + 2, "aria-selected": i === chosen });
		for (const cell of row.children) cell.setAttribute("role", "gridcell");
		made.push(row);
	}
	refill("rows", ...made);
	list.setAttribute("aria-activedescendant", made.some((row) => row.id === "r" + chosen) ? "r" + chosen : "");
}

const ARROWS = ["·", "→", "←"];

function eventRow(i) {
	const c = rec.c, kind = rec.kind(i) === "opaque" && !c.raw[i] ? "sse" : rec.kind(i), notice = kind === "notification";
	const call = rec.callOf(i), method = rec.method(i) || "", tool = !notice && rec.tool(i), row = el("div.row." + kind);
	row.classList.toggle("cancel", method === "notifications/cancelled");
	row.classList.toggle("same", call >= 0 && call === rec.callOf(chosen));
	const place = [c.id[i] != null && "#" + c.id[i], rec.sessions > 1 && "s" + c.s[i], c.x[i] != null && "x" + c.x[i]];
	const name = el("span", tool ? [el("span.c-method", method, " "), tool] : method.replace(/^notifications./, ""));
	const lines = rec.text(i).split("\n"), head = !hidden.has("http") && kind !== "stderr" && rec.groups.get(i);
	return put(row, el("span.num", c.n[i]), el("span.num.c-time", rec.timed && duration(c.t[i])),
		el("span.kind", ARROWS[c.d[i]], " ", rec.levels.has(i) && rec.problemRows.has(i) && "⚠ ", notice ? "notify" : kind),
		el("span.name", { title: plain(tool ? method + " " + tool : method) }, name, el("span.cut", place.filter(Boolean).join(" "))),
		el("span.num.c-latency", duration(c.latency[i])),
		el("span.text", { title: plain(lines.join("\n").slice(0, 999)) }, c.notes[i] && el("span.note", `[${c.notes[i]}] `),
			lines.length > 1 && `${lines.length} lines: `, lines.at(-1), head && el("span.cut", " " + c.summary[head[0]])));
}

function diffRow(i) {
	const one = diff.differences[i];
	return el("div.row." + one.verdict, el("span.kind", one.verdict), el("span", one.call + (one.times > 1 ? ` ×${one.times}` : "")), el("span", { title: plain(one.path + " " + one.text) }, el("span.cut", one.path), " ", one.text));
}

// Scroll to the chosen row and a few around it.
function intoView() {
	const list = $("list"), top = nearest(chosen) * rowHeight, around = 3 * rowHeight;
	list.scrollTop = clamp(list.scrollTop, top + 2 * rowHeight + around - list.clientHeight, top - around);
}

function choose(i) {
	chosen = isDiff() ? i : rec.leads[i];
	if (shown[nearest(chosen)] === chosen) intoView();
	drawRows();
	drawLanes();
	remember();
	if (opened) drawDetail();
}

function step(by) {
	if (!shown.length) return;
	const at = chosen < 0 ? (by > 0 ? -1 : 0) : nearest(chosen) - (by > 0 && shown[nearest(chosen)] !== chosen ? 1 : 0);
	choose(shown[clamp(at + by, 0, shown.length - 1)]);
}

function stepProblem(by) {
	if (isDiff()) { step(by); return; }
	const places = [...rec.problemRows].filter(matches).sort((a, b) => a - b);
	if (!places.length) return;
	const next = by > 0 ? places.find((i) => i > chosen) : places.findLast((i) => i < chosen);
	reveal(next ?? places.at(by > 0 ? 0 : -1));
	$("count").textContent = `problem ${places.indexOf(chosen) + 1} of ${places.length}`;
}

// ---- links

function remember() {
	const parts = [];
	if (chosen >= 0 && isDiff()) parts.push("difference=" + chosen);
	else if (chosen >= 0 && rec) {
		parts.push("n=" + rec.c.n[chosen]);
		if (rec.c.take[chosen] !== 1) parts.push("take=" + rec.c.take[chosen]);
		if (rec.c.item[chosen] != null) parts.push("i=" + rec.c.item[chosen]);
	}
	if (recordings.length > 1 && !isDiff()) parts.push("file=" + (tab + 1));
	if (live) parts.push("token=" + token);
	if (split) parts.push("split=" + split);
	const query = field.value.trim();
	if (query) parts.push("q=" + encodeURIComponent(query));
	const hash = "#" + parts.join("&");
	if (hash !== (location.hash || "#")) { try { history.replaceState(null, "", hash); } catch { location.replace(hash); } }
}

function follow() {
	const asked = new URLSearchParams(location.hash.slice(1)), numberOf = (name) => Math.trunc(asked.get(name)) || 0;
	if (recordings.length > 1) setTab(asked.has("file") ? clamp(numberOf("file") - 1, 0, recordings.length - 1) : asked.has("n") ? about.opens || 0 : home, true);
	if (asked.has("split")) setSplit(Number(asked.get("split")));
	if (asked.has("q") && asked.get("q") !== field.value) field.value = asked.get("q");
	applyQuery();
	if (isDiff() && shown.length && (asked.has("difference") || innerWidth > 700)) { choose(clamp(numberOf("difference"), 0, total() - 1)); openDetail(); return; }
	if (isDiff()) return;
	if (!asked.has("n")) { if (about.error != null && rec.size) reveal(rec.happened.length ? rec.happened[0][1][0] : rec.size - 1); return; }
	const found = rec.byEvent.get((asked.get("take") || "1") + ":" + asked.get("n"));
	if (found === undefined) return;
	const member = found + numberOf("i");
	reveal(rec.c.n[member] === rec.c.n[found] ? member : found);
	openDetail();
}

// ---- overview

let inks = {};
const color = (name) => (inks[name] ??= getComputedStyle(document.documentElement).getPropertyValue("--" + name));

function canvasOf(id, height) {
	const canvas = $(id), scale = devicePixelRatio || 1, width = canvas.clientWidth || 300;
	if (height) canvas.style.height = height + "px";
	canvas.width = width * scale;
	canvas.height = (height || 30) * scale;
	const pen = canvas.getContext("2d");
	pen.scale(scale, scale);
	const fill = (ink, x, y, wide, tall, alpha = 1) => { pen.fillStyle = color(ink); pen.globalAlpha = alpha; pen.fillRect(x, y, wide, tall); pen.globalAlpha = 1; };
	return [pen, fill, width, height || 30];
}

function drawMap() {
	$("overview").hidden = isDiff() || !rec.size;
	if ($("overview").hidden) return;
	const [, fill, width, height] = canvasOf("map"), counts = new Float64Array(Math.ceil(width) + 1), bad = new Set();
	for (let i = 0; i < rec.size; i++) {
		const x = Math.floor((rec.u[i] / rec.width) * (width - 1));
		counts[x]++;
		if (rec.problemRows.has(i)) bad.add(x);
	}
	const most = Math.sqrt(Math.max(...counts));
	counts.forEach((count, x) => {
		const tall = Math.max(3, (Math.sqrt(count) / most) * (height - 6));
		if (count) fill("bar", x, height - tall, 1.5, tall);
		if (bad.has(x)) fill("error", x, 0, 1.5, 4);
	});
	if (range) {
		const [from, to] = range.map((u) => (u / rec.width) * width);
		fill("accent", from, 0, Math.max(to - from, 2), height, 0.2);
	}
	$("map").setAttribute("aria-valuenow", range ? Math.round((range[0] / rec.width) * 100) : 0);
}

const AXIS = 14, NAMES = 64, TICKS = 5, BARS = ["bar", "barserver", "bad"];
let laneHeight = 8, rowHeight = 22;

function drawLanes() {
	if ($("overview").hidden) return;
	laneHeight = clamp(Math.floor(190 / rec.lines), 3, 15);
	const tall = Math.min(rec.lines * laneHeight, 220) + AXIS + 4;
	const [pen, fill, width, height] = canvasOf("lanes", tall), [from, to] = range || [0, rec.width], half = laneHeight / 2;
	const room = width - NAMES - 4, at = (u) => NAMES + ((u - from) / (to - from)) * room, marked = [width - 44];
	const top = (line) => AXIS + (line * laneHeight) % (tall - AXIS - 3), call = chosen < 0 ? -1 : rec.callOf(chosen), seen = (x) => x >= NAMES && x <= width;
	const write = (text, x, y, wide) => { pen.fillStyle = color("text"); pen.fillText(text, x, y, wide); };
	const draw = (ink, points) => { pen.strokeStyle = color(ink); pen.lineWidth = 1.5; pen.beginPath(); points.forEach(([x, y], n) => (n % 2 ? pen.lineTo(x, y) : pen.moveTo(x, y))); pen.stroke(); };
	pen.font = "10px system-ui, sans-serif";
	pen.textBaseline = "middle";
	// By line and kind of mark: many in half a pixel are one.
	const painted = new Float64Array(8 * rec.lines).fill(-9);
	const anew = (line, mark, x) => x - painted[8 * line + mark] >= 0.5 && ((painted[8 * line + mark] = x), true);
	rec.lanes.forEach(([session, way, line]) => {
		const y = top(line);
		fill("line", 0, y - 0.5, width, 0.5);
		if (laneHeight >= 7) write((session !== 1 ? `s${session} ` : "") + ["", "client →", "← server", "stderr"][way], 3, y + half, NAMES - 5);
	});
	const free = (x) => seen(x) && !marked.some((one) => Math.abs(one - x) < 54) && marked.push(x);
	for (const [u, pause] of rec.folds) {
		const x = at(u);
		if (!free(x)) continue;
		write("⋯ " + duration(pause), x - 14, AXIS / 2);
		fill("dim", x, AXIS, 0.5, height, 0.4);
	}
	if (rec.starts.length > 1) rec.starts.forEach((u, take) => { if (free(at(u))) { fill("dim", at(u), 0, 1, height); write("take " + (take + 1), at(u) + 3, AXIS / 2); } });
	for (let tick = 0; rec.timed && tick <= TICKS; tick++) {
		const x = NAMES + (tick / TICKS) * room;
		pen.textAlign = tick < TICKS ? "left" : "right";
		if (tick === TICKS || free(x)) write(duration(timeAt(from + (tick / TICKS) * (to - from))), x, AXIS / 2);
	}
	pen.textAlign = "left";
	for (let i = 0; i < rec.size; i++) {
		const line = rec.line(i), x = at(rec.u[i]), kind = rec.kind(i), asks = kind === "request", of = rec.c.call[i];
		if (!seen(x) && !(asks && x < NAMES)) continue;
		const y = top(line);
		if (line == null) {
			if (kind === "fault") draw("cancel", [[x - 3, AXIS - 6], [x, AXIS], [x, AXIS], [x + 3, AXIS - 6]]);
		} else if (kind === "stderr") {
			if (anew(line, 0, x)) fill("stderr", x, y + 1, 2, laneHeight - 2);
		} else if (asks) {
			const answer = rec.answers[i], left = Math.max(x, NAMES), wide = Math.max(at(rec.ends[i]) - left, 2);
			if (at(rec.ends[i]) < NAMES) continue;
			const ink = answer >= 0 && rec.kind(answer) === "error" ? 2 : rec.c.d[i] === 2 ? 1 : 0, faint = !fits(i);
			if (anew(line, faint ? 6 : ink, left + wide)) fill(BARS[ink], left, y + 1, wide, laneHeight - 2, faint ? 0.2 : rec.cancelled.has(i) ? 0.5 : 1);
			if (answer < 0 && anew(line, 3, left + wide)) fill("error", left + wide, y + 1, 1.5, laneHeight - 2);
			if (i === call) draw("accent", [[left, y], [left + wide, y], [left, y + laneHeight], [left + wide, y + laneHeight]]);
			if (laneHeight >= 11 && wide > 40) {
				pen.save(); pen.beginPath(); pen.rect(left, y, wide, laneHeight); pen.clip();
				write(plain(rec.tool(i) || rec.method(i)).slice(0, 60), left + 3, y + half + 0.5);
				pen.restore();
			}
		} else if (of != null && kind === "notification") {
			const above = top(rec.line(of)), bottom = above + laneHeight - 1;
			if (rec.method(i) === "notifications/cancelled") draw("cancel", [[x - 3, above + 1], [x + 3, bottom], [x + 3, above + 1], [x - 3, bottom]]);
			else if (anew(rec.line(of), 4, x)) fill("note", x, bottom - 4, 1.5, 4);
		} else if (of == null && (rec.problemRows.has(i) || anew(line, 5, x))) fill(rec.problemRows.has(i) ? "error" : "note", x - 1.5, y + half - 2, 4, 4);
	}
	if (chosen >= 0 && seen(at(rec.u[chosen]))) fill("accent", at(rec.u[chosen]), 0, 1, height);
	drawLanes.at = at; drawLanes.top = top; drawLanes.width = width;
}

// The row under the pointer: a call's bar, or else the nearest mark of its line.
function rowAt(event) {
	const x = event.offsetX, y = event.offsetY;
	let best = -1, distance = 8;
	for (let i = 0; i < rec.size; i++) {
		const line = rec.line(i);
		if (line == null) continue;
		const top = drawLanes.top(line);
		if (y < top || y > top + laneHeight) continue;
		const left = drawLanes.at(rec.u[i]), right = rec.kind(i) === "request" ? drawLanes.at(rec.ends[i]) : left;
		const off = x < left ? left - x : x > right ? x - right : 0;
		if (off < distance || (off === distance && rec.kind(i) === "request")) { best = i; distance = off; }
	}
	return best;
}

function setRange(from, to) {
	if (to - from >= rec.width * 0.999) range = null;
	else {
		const wide = Math.max(to - from, rec.width / 1e6), start = clamp(from, 0, rec.width - wide);
		range = [start, start + wide];
	}
	$("range").hidden = !range;
	if (range) {
		const [start, end] = range.map(timeAt), split = rec.starts.some((u) => u > range[0] && u <= range[1]);
		$("range").textContent = `${rec.timed ? duration(start) + " to " + duration(end) + (split ? "" : ", " + duration(end - start)) : ""}  ✕`;
	}
	drawMap();
	drawLanes();
	clearTimeout(setRange.later);
	setRange.later = setTimeout(applyQuery, 30);
}

function zoom(factor, share = 0.5) {
	const [from, to] = range || [0, rec.width], wide = (to - from) * factor;
	const middle = from + (to - from) * share;
	setRange(middle - wide * share, middle + wide * (1 - share));
}

function pan(share) {
	const [from, to] = range || [0, rec.width];
	if (range) setRange(from + (to - from) * share, to + (to - from) * share);
}

// Follow a drag on a canvas: `begin` gets its first event and gives what moves and what ends it.
function onDrag(canvas, begin) {
	canvas.addEventListener("pointerdown", (down) => {
		const [move, end] = begin(down), stop = new AbortController();
		canvas.setPointerCapture(down.pointerId);
		canvas.addEventListener("pointermove", move, stop);
		canvas.addEventListener("pointerup", (up) => { stop.abort(); end(up); }, stop);
		canvas.addEventListener("lostpointercapture", () => stop.abort(), stop);
	});
}

function wireOverview() {
	const map = $("map"), lanes = $("lanes");
	onDrag(map, (down) => {
		const box = map.getBoundingClientRect(), u = (event) => clamp((event.clientX - box.left) / box.width, 0, 1) * rec.width, start = u(down);
		return [(event) => setRange(Math.min(start, u(event)), Math.max(start, u(event))), (up) => { if (Math.abs(up.clientX - down.clientX) < 4) setRange(0, rec.width); }];
	});
	on("lanes", "wheel", (event) => {
		event.preventDefault();
		const share = clamp((event.offsetX - NAMES) / (drawLanes.width - NAMES), 0, 1);
		if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan(event.deltaX / 800); else zoom(event.deltaY > 0 ? 1.25 : 0.8, share);
	}, { passive: false });
	onDrag(lanes, (down) => {
		const held = range && [...range], by = (event) => event.clientX - down.clientX;
		return [(event) => {
			const u = held && (by(event) / drawLanes.width) * (held[1] - held[0]);
			if (held && Math.abs(by(event)) > 3) setRange(held[0] - u, held[1] - u);
		}, (event) => {
			const found = Math.abs(by(event)) > 3 ? -1 : rowAt(event);
			if (found >= 0) { choose(found); openDetail(); }
		}];
	});
	onDrag($("split"), () => [(event) => setSplit((event.clientX / innerWidth) * 100), remember]);
	on("split", "keydown", (event) => {
		const by = { ArrowLeft: -5, ArrowRight: 5 }[event.key];
		if (by) { setSplit(+$("split").ariaValueNow + by); remember(); }
	});
	on("lanes", "mousemove", (event) => {
		const i = rowAt(event);
		lanes.title = i < 0 ? "" : plain(brief(i));
	});
}

// ---- detail

function setOpened(is) {
	opened = is;
	$("detail").hidden = $("split").hidden = !is;
}

// Give the list so many percent of the width.
function setSplit(percent) {
	split = Math.round(clamp(percent, 20, 80)) || 0;
	if (split) $("work").style.setProperty("--split", split + "%");
	$("split").ariaValueNow = split;
}

function openDetail() {
	if (chosen < 0) return;
	setOpened(true);
	drawDetail();
}

function closeDetail() {
	setOpened(false);
	$("list").focus({ preventScroll: true });
	drawRows();
}

function drawDetail() {
	const pane = refill("detail");
	pane.scrollTop = 0;
	if (isDiff()) drawDifference(pane, diff.differences[chosen]); else drawEvent(pane, chosen);
	drawRows();
}

const heading = (kind, ...title) => el("div.top." + kind, el("h2", el("span.kind", kind), " ", title), el("button", { onclick: closeDetail, "aria-label": "Close the detail" }, "✕"));

function section(pane, title, ...children) {
	if (children.flat().some((child) => child != null && child !== false)) put(pane, el("h3", title), el("div", ...children));
}

function facts(pairs) {
	const list = el("dl");
	for (const [name, value] of pairs) if (value) put(list, el("dt", name), el("dd", value));
	return list;
}

function drawEvent(pane, i) {
	const c = rec.c, call = rec.callOf(i), answer = call >= 0 ? rec.answers[call] : -1;
	const title = [rec.method(i) || c.summary[i].slice(0, 80), rec.tool(i), c.id[i] != null ? "#" + c.id[i] : null].filter(Boolean).join(" ");
	const failed = rec.kind(answer) === "error";
	put(pane, heading(rec.kind(i), title), failed && el("div.violation", rec.text(answer)), el("div.tools", copies(i)), facts([
		["event", `${c.n[i]} ${["", "from the client", "from the server"][c.d[i]]}${rec.facts.length > 1 ? ` of take ${c.take[i]}` : ""}${c.item[i] != null ? `, batch member ${c.item[i] + 1}` : ""}`],
		["time", rec.timed && duration(c.t[i])],
		["session", c.s[i]],
		["exchange", c.x[i] != null ? `${c.x[i]}${c.status[i] != null ? `, status ${c.status[i]}` : ""}` : null],
		["took", duration(c.latency[i] ?? (i === call ? c.latency[answer] : null))],
		["notes", c.notes[i]],
		["carried by", rec.kind(i) !== "stderr" && rec.groups.has(i) && c.summary[i - 1]],
	]));
	for (const violation of rec.wrong.filter((one) => one.row === i)) {
		put(pane, el("div", { class: "violation " + violation.level }, el("b", `${violation.level}: ${violation.rule}`), el("div", violation.text),
			el("blockquote", violation.known || `“${violation.sentence}” (${violation.cited})`)));
	}
	if (!failed) for (const [text, rows, rule] of rec.happened) if (!rule && rows.some((row) => rec.leads[row] === i)) put(pane, el("div.violation", text));
	if (rec.cancelled.has(call)) section(pane, "Cancellation race", raceView(call, rec.cancelled.get(call)));
	const name = { request: "Request", response: "Answer", error: "Answer", notification: "Notification", http: "Head" }[rec.kind(i)] || "Content";
	const halves = [[name, i], i === call ? ["Answer", answer] : ["Request", call]];
	if (i === call && failed) halves.reverse();
	for (const [title, row] of halves) if (c.raw[row]) section(pane, title, row !== i && linkTo(row), payloadView(rec.kind(row) === "stderr" ? rec.text(row) : c.raw[row], c.size[row]));
	if (call >= 0) {
		section(pane, "Where the time went", timePath(call));
		const parts = [...(rec.children.get(call) || []), ...(rec.inside.get(call) || [])].filter((part) => part !== answer && part !== i);
		parts.sort((a, b) => a - b);
		section(pane, "Belongs to this call", linkList(parts));
		section(pane, "Server's log near it", linkList(logNear(call, answer)));
	}
	if (c.within[i] != null) section(pane, "Sent during", linkTo(c.within[i]));
	if (c.x[i] != null) {
		const heads = (rec.exchanges.get(c.take[i] + ":" + c.x[i]) || []).filter((row) => rec.kind(row) === "http" && row !== i);
		section(pane, "HTTP", heads.slice(0, 4).map((row) => payloadView(c.raw[row], c.size[row])));
	}
}

const linkTo = (i) => linkList([i]);

function linkList(rows) {
	return rows.length ? el("ul.links", rows.slice(0, 40).map((i) => el("li", el("button", { onclick: () => reveal(i) }, brief(i)))), rows.length > 40 && el("li.cut", `and ${rows.length - 40} more`)) : null;
}

// A row in a line.
function brief(i) {
	const latency = rec.c.latency[rec.answers[i]] ?? rec.c.latency[i];
	return [rec.c.n[i], rec.kind(i), rec.method(i), rec.tool(i), rec.c.id[i] && "#" + rec.c.id[i], duration(latency), rec.text(i)].filter(Boolean).join(" ").slice(0, 160);
}

function reveal(row) {
	const i = rec.leads[row];
	if (hidden.delete(rec.lens(i))) { syncLenses(); applyQuery(); }
	if (shown[nearest(i)] !== i) { setRange(0, rec.width); ask(""); }
	choose(i);
}

// The last of what was said while a call went on, and how it ended that got no answer.
function logNear(call, answer) {
	const found = [], c = rec.c;
	for (let i = 0; i < rec.size; i++) {
		const tells = rec.kind(i) === "stderr" || (answer < 0 && rec.kind(i) === "end" && c.x[i] == null);
		if (tells && c.take[i] === c.take[call] && !c.lead[i] && c.t[i] >= c.t[call] - NEAR && !(c.t[i] > c.t[answer] + NEAR)) found.push(i);
	}
	return found.slice(-20);
}

// Who waited for whom: the parts of a call's time in which the server worked or a client answered.
function timePath(call) {
	const path = rec.paths[call];
	if (!path) return null;
	const bar = el("div.path");
	for (const [share, waits, title] of path.parts) {
		const part = el(waits ? "span.c" : "span", { title: plain(title) });
		part.style.width = share * 100 + "%";
		bar.append(part);
	}
	return [bar, el("p", path.summary)];
}

// Copies

function copies(i) {
	const c = rec.c, made = [];
	const button = (name, text) => made.push(el("button", { onclick: (event) => copy(event.target, text) }, name));
	if (c.raw[i]) button(c.d[i] && rec.lens(i) === "message" ? "Copy JSON-RPC" : "Copy", c.raw[i]);
	button("Copy mcpmock command", showCommand(i));
	const heads = c.x[i] == null ? [] : rec.exchanges.get(c.take[i] + ":" + c.x[i]) || [];
	const head = heads.find((row) => rec.kind(row) === "http" && c.d[row] === 1);
	if (head !== undefined) button("Copy curl", curl(head, heads));
	return made;
}

const shell = (text) => {
	const clean = String(text).replace(UNSAFE, "?").replaceAll("\n", "?");
	return /^[\w@%+=:,./-]+$/.test(clean) ? clean : "'" + clean.replaceAll("'", "'\\''") + "'";
};

function showCommand(i) {
	const c = rec.c, file = rec.file, id = c.id[rec.callOf(i)] ?? c.id[i];
	if (id != null) return `mcpmock show ${shell(file)} --id ${shell(unquoted(id))}`;
	const terms = [`kind=${rec.kind(i)}`, rec.method(i) && `method=${rec.method(i)}`, rec.facts.length > 1 && `take=${c.take[i]}`, c.s[i] !== 1 && `s=${c.s[i]}`, c.x[i] != null && `x=${c.x[i]}`];
	return `mcpmock show ${shell(file)} --filter ${shell(terms.filter(Boolean).join(" "))}`;
}

function curl(head, heads) {
	const lines = rec.c.raw[head].split("\n"), [method, target] = lines[0].split(" ");
	const body = heads.find((row) => rec.c.d[row] === 1 && rec.c.raw[row] && rec.kind(row) !== "http");
	const origin = rec.urls[rec.c.take[head] - 1] || "http://127.0.0.1:PORT";
	const made = ["curl", "-N", "-X", shell(method), shell(origin + target)];
	for (const line of lines.slice(1)) if (!/^(host|content-length|connection|accept-encoding|transfer-encoding|user-agent):/i.test(line)) made.push("-H", shell(line));
	if (body !== undefined) made.push("--data-binary", shell(rec.c.raw[body]));
	return made.join(" ");
}

// A race

function raceView(call, race) {
	const box = el("div.scroll", { tabindex: 0, role: "group", "aria-label": "Race" }, el("p", race.summary)), name = "http://www.w3.org/2000/svg", drawing = document.createElementNS(name, "svg");
	attributes(drawing, { class: "race", viewBox: `0 0 ${race.width} 142`, width: race.width, role: "img", "aria-label": race.summary });
	for (const [tag, all, text] of race.shapes) {
		const made = document.createElementNS(name, tag);
		attributes(made, all);
		drawing.append(put(made, text));
	}
	put(box, drawing);
	if (!race.grid.length) return put(box, el("p.cut", "The cells are listed for calls of up to 7 messages."));
	const table = el("table.cells", el("tr", el("th", "i \\ j"), race.grid.map((_, j) => el("th", j))), race.grid.map((cells, i) => el("tr", el("th", i), cells.map((cell) => {
		if (!cell) return el("td");
		const [text, fits, fault] = cell;
		return el("td" + (fits ? (race.exact ? ".exact" : ".fits") : ""), el("button", { title: "Copy " + plain(fault), onclick: (event) => copy(event.target, fault) }, text));
	}))));
	return put(box, table, el("p.cut", "i: messages received when the client cancelled; j: messages sent when the cancel arrived. ", race.exact ? "Marked: the cell of the fault." : "Shaded: the cells that fit what was seen.", " A click copies the fault that makes a cell."));
}

// Two calls, two recordings

// Ids and tokens are no difference.
function sideBySide(one, other) {
	const texts = [one, other].map((text) => { const laid = layOut(text); return laid ? laid.lines.map((line) => line.parts.map((part) => part[1]).join("").replace(/,$/, "").replace(line.depth === 1 ? /^("id": ).*/ : /^("(?:requestId|progressToken)": ).*/, "$1")) : text.split("\n"); });
	const [gone, added] = differentLines(...texts);
	return [payloadView(one, 0, gone), payloadView(other, 0, added)];
}

// The lines of each text that the other has not, between their common start and end; all of these
// where only their order differs.
function differentLines(one, other) {
	const short = Math.min(one.length, other.length);
	let start = 0, end = 0;
	while (start < short && one[start] === other[start]) start++;
	while (end < short - start && one.at(-1 - end) === other.at(-1 - end)) end++;
	const parts = [one, other].map((lines) => lines.slice(start, lines.length - end)), has = parts.map((lines) => new Set(lines));
	const alone = (line, side) => !has[1 - side].has(line), moved = !parts.some((lines, side) => lines.some((line) => alone(line, side)));
	return parts.map((lines, side) => new Map([...lines.keys()].filter((at) => moved || alone(lines[at], side)).map((at) => [at + start, side ? "diff-add" : "diff-gone"])));
}

function drawDifference(pane, one) {
	put(pane, heading(one.verdict, one.rule), facts(one.facts));
	const [before, after] = one.marked.map(([start, mark, end]) => [start, el("mark", mark), end]);
	put(pane, el("div.sides", el("div.json.mono.diff-gone", el("div", before)), el("div.json.mono.diff-add", el("div", after))));
	const rows = [one.old_event, one.new_event].map((event, side) => (event ? recordings[side].byEvent.get(event.join(":")) : undefined));
	const calls = rows.map((row, side) => { const call = row === undefined ? -1 : recordings[side].callOf(row); return call < 0 || call === row ? undefined : call; });
	if (calls.some((call) => call !== undefined)) drawSides(pane, "The request", calls);
	drawSides(pane, "The messages", rows);
}

// A message of each recording, as far as there is one, side by side.
function drawSides(pane, title, rows) {
	const raws = rows.map((row, side) => (row === undefined ? null : recordings[side].c.raw[row]));
	const links = rows.map((row, side) => [el("b", side ? "after " : "before "), row === undefined ? el("i", "not in this recording")
		: el("button", { onclick: () => { setTab(side); reveal(row); openDetail(); } }, `event ${recordings[side].c.n[row]} of ${recordings[side].file}`)]);
	const views = raws.includes(null) ? raws.map((raw) => raw && payloadView(raw)) : sideBySide(...raws);
	put(pane, el("h3", title), el("div.sides", links.map((link, side) => el("div", link, views[side]))));
}

// ---- head

function drawHead() {
	refill("name", about.title || recordings.map((one) => one.file).join("  ↔  "));
	refill("subject", isDiff() ? "" : rec.subject.join(" · "));
	drawHappened(isDiff() ? [] : rec.happened);
	const chips = refill("chips"), chip = (text, kind, query) => put(chips, el(query ? "button" : "span", { class: "chip " + kind, "data-q": query, onclick: query && (() => pick(query)) }, text));
	if (isDiff()) {
		for (const verdict of ["breaking", "risky", "compatible"]) if (diff.counts[verdict]) chip(`${diff.counts[verdict]} ${verdict}`, verdict, verdict);
		if (diff.ignored) chip(`${diff.ignored} ignored`, "");
	} else {
		rec.chips.forEach((one) => chip(...one));
		refill("facts", ...rec.facts.map(facts), ...rec.notices.map((notice) => el("p", notice)));
	}
}

// One line for each problem, at most three before a click.
function drawHappened(told) {
	const lines = told.slice(0, allTold ? told.length : 3), more = told.length - lines.length + (told.length && rec.untold);
	const button = (text, onclick) => el("li", el("button", { onclick }, text));
	refill("happened", ...lines.map(([text, rows]) => button(text, () => { reveal(rows[0]); openDetail(); })),
		more > 0 && button(`and ${figure(more)} more`, allTold ? () => stepProblem(1) : () => { allTold = true; drawHead(); }));
}

function drawTabs() {
	const bar = $("tabs");
	bar.hidden = recordings.length < 2;
	const names = [...(diff ? [["diff", "Differences"]] : []), ...recordings.map((one, side) => [side, one.file])];
	bar.replaceChildren(...names.map(([name, title]) => el("button", { role: "tab", "aria-selected": String(tab === name), onclick: () => setTab(name) }, name === about.opens ? "this test" : title)));
}

function setTab(next, quiet) {
	if (next === tab && rec) return;
	tab = next;
	rec = isDiff() ? null : recordings[tab];
	chosen = -1;
	fits = () => true;
	range = null;
	$("range").hidden = true;
	if (!quiet) field.value = "";
	setOpened(false);
	$("lenses").hidden = $("about").hidden = isDiff();
	field.placeholder = isDiff() ? "Search   /" : "Filter (method=tools/* kind=error) or search   /";
	$("list").scrollTop = 0;
	drawTabs();
	drawHead();
	drawColumns();
	drawMap();
	drawLanes();
	if (!quiet) applyQuery();
}

// Follow a recording while it grows: each event of the stream has the rows that are new.
async function watch(file) {
	if (stream) stream.abort();
	const own = (stream = new AbortController());
	const answer = await fetch("events?file=" + file, { headers: { "Mcpmock-Token": token }, signal: stream.signal });
	if (!answer.ok) throw new Error(await answer.text());
	let text = "";
	for (const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader(); ;) {
		const { done, value } = await reader.read().catch(() => ({ done: true }));
		if (own.signal.aborted) return;
		if (done) break;
		const events = (text + value).split("\n\n");
		text = events.pop();
		for (const event of events) {
			const data = JSON.parse(event.slice(6));
			if (data.files) { drawFiles(data.files); continue; }
			if (data.anew) {
				recordings[0] = rec = new Recording(data);
				chosen = -1;
				applied = 0;
			} else rec.append(data);
			drawSoon();
			// What the reader does comes first.
			await new Promise((done) => setTimeout(done));
			if (own.signal.aborted) return;
		}
	}
	stream = null;
	drawState();
}

// The files of a watch to choose from, the newest first.
function drawFiles(files) {
	about.files = files;
	$("files").hidden = files.length < 2;
	refill("names", ...files.map(([, name]) => el("option", { value: plain(name) })));
}

function drawState() {
	$("state").textContent = !live ? "" : !stream ? about.ended : rec.open ? "● recording" + (below ? "" : ", following") : "";
	$("files").placeholder = plain(rec.file);
	$("below").hidden = !below;
	$("below").textContent = `${figure(below)} new below ↓`;
}

const atEnd = () => $("list").scrollTop + $("list").clientHeight >= $("list").scrollHeight - rowHeight;

// Draw what came, in a frame, and let three quarters of the time to the reader.
function drawSoon() {
	if (drawSoon.due) return;
	drawSoon.due = true;
	setTimeout(() => requestAnimationFrame(() => {
		const began = performance.now(), list = $("list"), before = applied && shown.length, following = atEnd();
		drawSoon.due = false;
		const head = JSON.stringify([rec.subject, rec.happened, rec.untold, rec.chips, rec.facts, rec.notices]);
		if (head !== drawSoon.head) drawHead();
		drawSoon.head = head;
		applyQuery(applied);
		drawColumns();
		drawMap();
		drawLanes();
		if (following) list.scrollTop = list.scrollHeight;
		below = following ? 0 : below + shown.length - before;
		drawState();
		drawSoon.rest = 3 * (performance.now() - began);
	}), drawSoon.rest);
}

// ---- keys, print, start

function onKey(event) {
	if (event.ctrlKey || event.metaKey || event.altKey) return;
	const typing = event.target.type === "search";
	if (event.key === "Escape") {
		if ($("help").open) $("help").close();
		else if (typing && field.value) ask("");
		else if (typing) $("list").focus();
		else if (opened) closeDetail();
		else if (range) setRange(0, rec.width);
		else if (field.value) ask("");
		return;
	}
	if (typing) { if (event.key === "Enter") { $("list").focus(); if (chosen < 0) step(1); } return; }
	if (event.key === "Enter" && /BUTTON|SUMMARY/.test(event.target.tagName)) return;
	const page = Math.max(1, Math.floor($("list").clientHeight / rowHeight) - 2), timed = !isDiff(), nearer = () => timed && zoom(0.7), farther = () => timed && zoom(1.43);
	const actions = {
		j: () => step(1), ArrowDown: () => step(1), k: () => step(-1), ArrowUp: () => step(-1), PageDown: () => step(page), PageUp: () => step(-page),
		Home: () => shown.length && choose(shown[0]), End: () => shown.length && choose(shown[shown.length - 1]),
		Enter: () => { if (chosen < 0) step(1); openDetail(); }, n: () => stepProblem(1), p: () => stepProblem(-1),
		"/": () => { field.focus(); field.select(); }, "?": () => $("help").showModal(),
		"+": nearer, "=": nearer, w: nearer, "-": farther, s: farther,
		a: () => timed && pan(-0.25), d: () => timed && pan(0.25), 0: () => timed && setRange(0, rec.width),
	};
	const inDetail = $("detail").contains(event.target) && ["ArrowDown", "ArrowUp", "PageDown", "PageUp", "Home", "End"].includes(event.key);
	if (!inDetail && actions[event.key]) { event.preventDefault(); actions[event.key](); }
}

function syncLenses() {
	for (const box of $("lenses").querySelectorAll("input")) box.checked = !hidden.has(box.value);
}

function printRows() {
	const rows = shown.slice(0, 2000), more = shown.length - rows.length;
	refill("print", ...rows.map(isDiff() ? diffRow : eventRow), more > 0 && `and ${many(more, "more row")}, which are not printed`);
}

async function start() {
	if (!("DecompressionStream" in window)) throw new Error("this browser cannot unpack the recording (Chrome 80, Firefox 113, Safari 16.4 can)");
	const data = await readData();
	$("data").remove();
	recordings = data.recordings.map((one) => new Recording(one));
	diff = data.diff || null;
	about = data;
	home = data.opens ?? (diff ? "diff" : 0);
	put($("error"), data.error);
	put($("told"), data.told);
	live = data.live;
	token = new URLSearchParams(location.hash.slice(1)).get("token");
	rec = recordings[0];
	if (rec.size && rec.c.n.every((_, i) => rec.lens(i) === "http")) hidden.delete("http");
	syncLenses();
	tab = null;
	setTab(home, true);
	let later;
	on("query", "input", () => { clearTimeout(later); later = setTimeout(applyQuery, rec && rec.size > 20000 ? 25 : 0); });
	// A row may have been drawn anew while the button was down.
	on("rows", "click", (event) => {
		const row = event.target.closest(".row"), i = row ? +row.id.slice(1) : shown[Math.floor((event.clientY - $("rows").getBoundingClientRect().top) / rowHeight)];
		if (i !== undefined) { choose(i); openDetail(); }
	});
	on("list", "scroll", () => { requestAnimationFrame(drawRows); if (below && atEnd()) { below = 0; drawState(); } });
	on("below", "click", () => { $("list").scrollTop = $("list").scrollHeight; });
	on("files", "input", () => {
		const found = about.files.find(([, name]) => plain(name) === $("files").value);
		if (found) { $("files").value = ""; $("list").focus(); watch(found[0]); }
	});
	on("lenses", "change", (event) => { if (event.target.checked) hidden.delete(event.target.value); else hidden.add(event.target.value); applyQuery(); });
	on("range", "click", () => setRange(0, rec.width));
	on("clear", "click", () => { if (range) setRange(0, rec.width); ask(""); });
	on("keys", "click", () => $("help").showModal());
	document.addEventListener("keydown", onKey);
	addEventListener("hashchange", follow);
	addEventListener("beforeprint", printRows);
	const redraw = () => { inks = {}; drawMap(); drawLanes(); drawRows(); };
	addEventListener("resize", redraw);
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
	wireOverview();
	follow();
	document.documentElement.dataset.ready = "yes";
	if (live) { drawFiles(about.files); watch(about.files[0]?.[0] ?? 0); }
	if (rec) setTimeout(() => recordings.forEach((one) => one.haystack()), 50);
}

addEventListener("unhandledrejection", (event) => { if (event.reason.name !== "AbortError") fail(event.reason); });
start().catch(fail);
