"use strict";
// What every page begins with. All that was recorded is hostile: it reaches the document as text
// nodes only (`put`), never as markup, and its control and bidi characters are spelled out.

const UNSAFE = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|\udb40[\udc00-\uddef]/g;

const $ = (id) => document.getElementById(id);
const on = (id, type, listener) => $(id).addEventListener(type, listener);

// An element, "tag.class.class", with attributes (`on..` are listeners) and children.
function el(tag, ...children) {
	const [name, ...classes] = tag.split("."), made = document.createElement(name), first = children[0];
	made.className = classes.join(" ");
	if (first?.constructor === Object) attributes(made, children.shift());
	children.flat(9).forEach((child) => put(made, child));
	return made;
}

const codePoint = (c) => "U+" + c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
const plain = (text) => String(text).replace(UNSAFE, codePoint);

function attributes(made, all) {
	for (const [key, value] of Object.entries(all)) if (key.startsWith("on")) made[key] = value; else made.setAttribute(key, value);
}

// Append nodes, and text in which nothing acts: what does not show is spelled out.
function put(parent, ...children) {
	for (const child of children) {
		if (child == null || child === false) continue;
		if (child instanceof Node) { parent.append(child); continue; }
		const text = String(child);
		let last = 0;
		for (const found of text.matchAll(UNSAFE)) {
			parent.append(text.slice(last, found.index), el("span.cc", codePoint(found[0])));
			last = found.index + found[0].length;
		}
		parent.append(text.slice(last));
	}
	return parent;
}

// Put these in the place of what an element has.
function refill(id, ...children) {
	$(id).replaceChildren();
	return put($(id), ...children);
}

function duration(us) {
	if (us == null) return "";
	if (us < 0) return "-" + duration(-us);
	const to = (n) => Math.round(us / n);
	if (us && us < 9950) return (to(100) / 10).toFixed(1) + " ms";
	if (us < 999500) return to(1e3) + " ms";
	if (us < 59995e3) return (to(1e4) / 100).toFixed(2) + " s";
	return `${to(1e6) / 60 | 0}:${String(to(1e6) % 60).padStart(2, "0")} min`;
}

const figure = (n) => n.toLocaleString("en");
const many = (n, noun) => `${figure(n)} ${noun}${n === 1 ? "" : "s"}`;
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

async function copy(button, text) {
	await navigator.clipboard.writeText(text);
	const name = button.textContent;
	button.textContent = "Copied";
	setTimeout(() => { button.textContent = name; }, 900);
}

// The bytes of the data block, decoded and unpacked.
async function readData() {
	const text = $("data").textContent.trim();
	const bytes = Uint8Array.fromBase64 ? Uint8Array.fromBase64(text) : Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
	return JSON.parse(await new Response(stream).text());
}

function fail(error) {
	$("failure").hidden = false;
	$("failure").textContent = "This page could not be shown: " + error.message;
}

