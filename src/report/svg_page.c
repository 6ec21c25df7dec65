/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What stands around the boxes of the SVG flame graph: its caption, so that nobody takes an
 * estimate for a count; its colours, by day and by night; and a script for those who open it in a
 * browser. In <img> scripts don't run, and nothing that needs one is shown.
 */
#include <math.h>
#include <string.h>

#include "report/row.h"
#include "report/svg.h"
#include "report/text.h"

#define CAPTION_COLUMNS ((SVG_WIDTH - 2 * SVG_MARGIN) * 100 / SVG_CHAR_WIDTH)
#define TITLE_COLUMNS	(CAPTION_COLUMNS * 12 / 14) /* its letters are larger */
#define LOSSES_MAX	8			    /* lines of them */

/* clang-format off */
static const char style[] =
	"<style>\n"
	"svg{color-scheme:light dark}\n"
	"text{font:12px monospace;fill:#222;pointer-events:none}\n"
	".t{font-weight:bold;font-size:14px}\n"
	".w{fill:#a33000}\n"
	".b{fill:#fff}\n"
	"rect{stroke:#fff;stroke-width:.5}\n"
	"g:hover rect{stroke:#222;stroke-width:1}\n"
	".i text{font-style:italic}\n"
	".s{fill:#0b57d0;pointer-events:auto;cursor:pointer;text-decoration:underline}\n"
	".v1 rect{fill-opacity:.8}.v2 rect{fill-opacity:.6}\n"
	".p rect{fill:#d8d8d8}.e rect{fill:#f4f4f4;stroke-dasharray:3}\n"
	".c0 rect{fill:#e8a69c}.c1 rect{fill:#e8bf9c}.c2 rect{fill:#e8d49c}.c3 rect{fill:#e5e89c}\n"
	".c4 rect{fill:#bbe89c}.c5 rect{fill:#9ce8c2}.c6 rect{fill:#9ce8e5}.c7 rect{fill:#9cc8e8}\n"
	".c8 rect{fill:#9ca6e8}.c9 rect{fill:#bf9ce8}.c10 rect{fill:#e89ce8}.c11 rect{fill:#e89cbb}\n"
	".m1 rect{fill:#f8d4cf}.m2 rect{fill:#f2a99f}.m3 rect{fill:#ee8f82}.m4 rect{fill:#e76a59}\n"
	".l1 rect{fill:#d0e0f5}.l2 rect{fill:#a3c2eb}.l3 rect{fill:#86b0e8}.l4 rect{fill:#6199e0}\n"
	".h rect{fill:#d16dff;fill-opacity:1}\n"
	".f{opacity:.5}\n"
	"@media(prefers-color-scheme:dark){\n"
	"text{fill:#e6e6e6}.w{fill:#ff9d6e}.b{fill:#1b1b1d}.s{fill:#8ab4f8}\n"
	"rect{stroke:#1b1b1d}g:hover rect{stroke:#e6e6e6}\n"
	".p rect{fill:#4a4a4d}.e rect{fill:#2c2c2f}\n"
	".c0 rect{fill:#6a372f}.c1 rect{fill:#6a4b2f}.c2 rect{fill:#6a5a2f}.c3 rect{fill:#686a2f}\n"
	".c4 rect{fill:#486a2f}.c5 rect{fill:#2f6a4d}.c6 rect{fill:#2f6a68}.c7 rect{fill:#2f516a}\n"
	".c8 rect{fill:#2f376a}.c9 rect{fill:#4b2f6a}.c10 rect{fill:#6a2f6a}.c11 rect{fill:#6a2f48}\n"
	".m1 rect{fill:#54302c}.m2 rect{fill:#74332a}.m3 rect{fill:#953527}.m4 rect{fill:#b83824}\n"
	".l1 rect{fill:#2b3a50}.l2 rect{fill:#29466f}.l3 rect{fill:#26528f}.l4 rect{fill:#245eb0}\n"
	".h rect{fill:#8a2fb8}\n"
	"}\n"
	"</style>\n";

/* Boxes know their places as they were drawn; a zoom computes new ones from those. */
static const char script[] =
	"<script><![CDATA[\n"
	"(function () {\n"
	"  'use strict';\n"
	"  var svg = document.documentElement, wide = 725 / 100, from = 10, all = 1180, found = '';\n"
	"  var find = document.getElementById('find'), back = document.getElementById('back');\n"
	"  var boxes = Array.prototype.map.call(svg.querySelectorAll('g'), function (g) {\n"
	"    var r = g.querySelector('rect'), t = g.querySelector('text');\n"
	"    var told = g.querySelector('title').textContent.split('\\n');\n" /* numbers come last */
	"    var names = told.slice(0, /^before: /.test(told[told.length - 1]) ? -2 : -1);\n"
	"    return { g: g, r: r, t: t, name: told[0], low: names.join('\\n').toLowerCase(),\n"
	"             x: +r.getAttribute('x'), w: +r.getAttribute('width'), y: +r.getAttribute('y') };\n"
	"  });\n"
	"  function label(b, x, w) {\n"
	"    var room = Math.floor((w - 6) / wide), s = b.name;\n"
	"    if (!b.t) {\n"
	"      if (room < 3) return;\n"
	"      b.t = document.createElementNS('http://www.w3.org/2000/svg', 'text');\n"
	"      b.t.setAttribute('y', b.y + 12);\n"
	"      b.g.appendChild(b.t);\n"
	"    }\n"
	"    if (room < 3) s = '';\n"
	"    else if (s.length > room) s = s.slice(0, room - 2) + '..';\n"
	"    b.t.setAttribute('x', x + 3);\n"
	"    b.t.textContent = s;\n"
	"  }\n"
	"  function zoom(to) {\n"
	"    var k = all / to.w;\n"
	"    boxes.forEach(function (b) {\n"
	"      var above = b.y < to.y, near = .02;\n"
	"      var holds = b.x <= to.x + near && b.x + b.w >= to.x + to.w - near;\n"
	"      var inside = b.x >= to.x - near && b.x + b.w <= to.x + to.w + near;\n"
	"      var shown = above ? holds : inside, x = from, w = all;\n"
	"      b.g.style.display = shown ? '' : 'none';\n"
	"      b.g.classList.toggle('f', above);\n"
	"      if (!shown) return;\n"
	"      if (!above) { x = from + (b.x - to.x) * k; w = b.w * k; }\n"
	"      b.r.setAttribute('x', x);\n"
	"      b.r.setAttribute('width', w);\n"
	"      label(b, x, w);\n"
	"    });\n"
	"    back.style.display = to === boxes[0] ? 'none' : '';\n"
	"  }\n"
	"  function search(words) {\n"
	"    var sum = 0, end = -1, hits = [];\n"
	"    found = words || '';\n"
	"    boxes.forEach(function (b) {\n"
	"      var hit = found !== '' && b.low.indexOf(found.toLowerCase()) >= 0;\n"
	"      b.g.classList.toggle('h', hit);\n"
	"      if (hit) hits.push(b);\n"
	"    });\n"
	"    hits.forEach(function (b) {\n" /* callers come before callees: each part counts once */
	"      if (b.x < end - .02) return;\n"
	"      sum += b.w;\n"
	"      end = b.x + b.w;\n"
	"    });\n"
	"    find.textContent = found === '' ? 'search' :\n"
	"      'search: ' + (boxes.length ? (100 * sum / boxes[0].w).toFixed(1) : 0) + ' % match';\n"
	"  }\n"
	"  function ask() {\n"
	"    var words = window.prompt('part of a name, file or path', found);\n"
	"    if (words !== null) search(words);\n"
	"  }\n"
	"  if (!boxes.length) return;\n"
	"  boxes.forEach(function (b) {\n"
	"    b.g.style.cursor = 'pointer';\n"
	"    b.g.addEventListener('click', function () { zoom(b); });\n"
	"  });\n"
	"  find.style.display = '';\n"
	"  find.addEventListener('click', ask);\n"
	"  back.addEventListener('click', function () { zoom(boxes[0]); });\n"
	"  window.addEventListener('keydown', function (e) {\n"
	"    if (e.ctrlKey || e.metaKey || e.altKey) return;\n"
	"    if (e.key === 'Escape') { zoom(boxes[0]); search(''); }\n"
	"    if (e.key === '/') { e.preventDefault(); ask(); }\n"
	"  });\n"
	"})();\n"
	"]]></script>\n";
/* clang-format on */

/* ---- caption ---- */

/* Takes s->text for a line of the caption. */
static void add_line(struct svg *s, const char *class)
{
	s->top += SVG_LINE_HEIGHT;
	if (s->text.len && !s->text.oom)
		svg__fit(&s->text, strstr(class, "\"t\"") ? TITLE_COLUMNS : CAPTION_COLUMNS);
	str__addf(&s->buf, "<text%s x=\"%u\" y=\"%u\">", class, SVG_MARGIN, s->top);
	svg__add_text(s);
	str__add(&s->buf, "</text>\n");
}

static void add_target(struct svg *s)
{
	const struct allocsnoop_info *info = &s->p->info;

	look__name(&s->text, *info->target ? info->target : "allocsnoop");
	if (info->diff) {
		str__add(&s->text, ", compared with ");
		look__name(&s->text, info->base_target ? info->base_target : "before");
	}
	add_line(s, " class=\"t\"");
}

static void add_total(struct svg *s)
{
	const struct tree_node *root = s->tree.root;

	str__addf(&s->text, "%s: ", value__name(s->opts->value));
	svg__say_value(s, root->total);
	if (value__in_bytes(s->opts->value))
		str__addf(&s->text, " in %" PRIu64 " blocks", root->blocks);
	if (s->p->info.diff) {
		str__add(&s->text, "; before: ");
		svg__say_value(s, root->base);
	}
	add_line(s, "");
	if (!s->p->info.diff)
		return;
	str__add(&s->text,
		 "width: both together; red: more than before, blue: less, grey: the same");
	add_line(s, "");
}

static void say_sampling(struct str *text, const struct allocsnoop_info *info)
{
	if (info->budget_pct > 0)
		str__addf(text, " of %" PRIu64 " windows", info->windows);
	if (info->sampling == ALLOCSNOOP_RATE)
		str__addf(text, ", each allocation kept with probability %g", info->sampling_value);
	if (info->sampling == ALLOCSNOOP_BYTES) {
		str__add(text, ", one kept per ");
		look__bytes(text, (u64)info->sampling_value);
		str__add(text, " on average");
	}
}

static void add_part(struct svg *s)
{
	if (!s->p->info.filtered)
		return;
	info__say_part(&s->text, &s->p->info);
	add_line(s, "");
}

static void add_sureness(struct svg *s)
{
	const struct allocsnoop_info *info = &s->p->info;
	bool in_bytes = value__in_bytes(s->opts->value);
	bool live =
		s->opts->value == ALLOCSNOOP_LIVE_BYTES || s->opts->value == ALLOCSNOOP_LIVE_COUNT;
	struct allocsnoop_sample all;
	u64 hits;

	profile__sum(s->p, &all);
	hits = live ? look__live_samples(&all) : all.sampled_count;
	if (info->at_least) {
		str__add(&s->text, "lower bounds");
	} else if (info->exact) {
		str__add(&s->text, "exact: all were counted");
	} else if (look__is_unknown(info, all.sampled_count)) {
		str__add(&s->text, "exact or sampled: not known");
	} else {
		str__addf(&s->text, "estimated from %" PRIu64 " samples", all.sampled_count);
		say_sampling(&s->text, info);
		if (s->tree.root->var > 0) {
			str__add(&s->text, "; ");
			look__interval(&s->text, &(struct interval){ .se = sqrt(s->tree.root->var),
								     .sampled_cnt = hits,
								     .bytes = in_bytes });
			str__add(&s->text, hits < TEXT_FEW_SAMPLES ? "" : " (95 %)");
		}
	}
	add_line(s, info->exact && !info->at_least ? "" : " class=\"w\"");
}

static void add_losses(struct svg *s)
{
	size_t cnt = s->p->losses.cnt;

	for (size_t i = 0; i < MIN(cnt, LOSSES_MAX); i++) {
		const struct allocsnoop_loss *l = &s->p->losses.v[i];

		str__addf(&s->text, "lost: %" PRIu64 " ", l->count);
		look__name(&s->text, l->name);
		str__add(&s->text, ": ");
		look__name(&s->text, l->text);
		add_line(s, " class=\"w\"");
	}
	if (cnt <= LOSSES_MAX)
		return;
	str__addf(&s->text, "and %zu more kinds of losses", cnt - LOSSES_MAX);
	add_line(s, " class=\"w\"");
}

static void add_remainder(struct svg *s)
{
	u64 all = svg__weight(s, s->tree.root), wide = s->min_width;

	if (!all) {
		str__add(&s->text, "nothing to show");
		add_line(s, "");
	}
	if (!s->hidden)
		return;
	str__addf(&s->text,
		  "not drawn: %zu of %zu boxes, narrower than %" PRIu64 ".%" PRIu64 " pixels: ",
		  s->tree.node_cnt - s->drawn_cnt, s->tree.node_cnt, wide / 100, wide / 10 % 10);
	look__share(&s->text, s->hidden, all);
	str__add(&s->text, ", ");
	svg__say_value(s, s->hidden);
	add_line(s, "");
}

static void add_caption(struct svg *s)
{
	s->top = SVG_MARGIN / 2;
	add_target(s);
	add_total(s);
	add_part(s);
	add_sureness(s);
	add_losses(s);
	add_remainder(s);
	s->top += SVG_LINE_HEIGHT;
	str__addf(&s->buf,
		  "<text id=\"find\" class=\"s\" x=\"%u\" y=\"%u\" style=\"display:none\">search"
		  "</text>\n<text id=\"back\" class=\"s\" x=\"%u\" y=\"%u\" style=\"display:none\">"
		  "zoom out</text>\n",
		  SVG_MARGIN, s->top, SVG_WIDTH - 100, s->top);
	s->top += SVG_LINE_HEIGHT / 2;
}

/* The caption comes first, because it decides the height. */
void svg__add_head(struct svg *s)
{
	struct str caption = { 0 };
	u32 height;

	add_caption(s);
	caption = s->buf;
	s->buf = (struct str){ .oom = caption.oom };
	height = s->top + (s->drawn_depth + 1) * SVG_BOX_HEIGHT + SVG_MARGIN;
	str__addf(&s->buf,
		  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
		  "viewBox=\"0 0 %u %u\">\n",
		  SVG_WIDTH, height, SVG_WIDTH, height);
	str__add(&s->buf, "<!-- allocsnoop " ALLOCSNOOP_VERSION " -->\n");
	str__add(&s->buf, style);
	str__addf(&s->buf, "<rect class=\"b\" width=\"%u\" height=\"%u\"/>\n", SVG_WIDTH, height);
	str__addn(&s->buf, caption.s ? caption.s : "", caption.len);
	str__free(&caption);
}

void svg__add_tail(struct svg *s)
{
	str__add(&s->buf, script);
	str__add(&s->buf, "</svg>\n");
}
