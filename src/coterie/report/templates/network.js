// The interactive drawing of a network. `report/interactive.py` writes the data (there is the format).
// A place is <div class="network-widget"> with a <script type="application/json">, or with the address
// of the data in data-source. Names come from the user: they become text or canvas text, never HTML.
(() => {
  const make = (kind, className, text, parent) => {
    const made = document.createElement(kind);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    parent?.append(made);
    return made;
  };
  const unpack = ({ bytes, data }) => {
    const raw = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
    return new { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array }[bytes](raw.buffer);
  };
  const count = (number, word) => `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;
  const STYLES = 14, COLOURS = 7, MISSING = 14;
  const SLOW = 25; // milliseconds; a picture that takes longer is moved as a whole until the view rests
  const MOST_ROWS = 100, MOST_LEGEND = 40;
  const still = matchMedia("(prefers-reduced-motion: reduce)");

  class Network {
    constructor(place, data) {
      this.place = place;
      this.data = data;
      this.hasNodes = Boolean(data.names);
      this.levels = data.levels;
      for (const level of this.levels) if (level.of) level.of = unpack(level.of);
      if (this.hasNodes) this.readNodes();
      this.level = 0;
      this.open = new Set(); // blocks whose nodes are drawn, in the view of the blocks
      this.chosen = null; // {node} or {block} or {style}
      this.hovered = -1;
      this.view = { x: 0, y: 0, scale: 1 };
      this.build();
      this.showBlocks(!this.hasNodes || (data.nodes > 20000 && this.levels[0].links));
      this.colours();
      new ResizeObserver(() => this.resize()).observe(this.canvas);
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { this.colours(); this.changed(true); });
      this.resize();
    }

    readNodes() {
      const { data } = this, n = data.nodes;
      for (const name of ["x", "y", "degree", "out", "target"]) this[name] = unpack(data[name]);
      for (const one of data.colours) one.style = unpack(one.style);
      const m = this.target.length;
      this.source = new Uint32Array(m);
      this.start = new Uint32Array(n + 1); // neighbours of v: near[start[v]] to near[start[v + 1] - 1]
      for (let v = 0, e = 0; v < n; v += 1) {
        for (let i = 0; i < this.out[v]; i += 1, e += 1) {
          this.source[e] = v;
          this.start[v + 1] += 1;
          this.start[this.target[e] + 1] += 1;
        }
      }
      for (let v = 0; v < n; v += 1) this.start[v + 1] += this.start[v];
      const next = this.start.slice();
      this.near = new Uint32Array(2 * m);
      for (let e = 0; e < m; e += 1) {
        this.near[next[this.source[e]]++] = this.target[e];
        this.near[next[this.target[e]]++] = this.source[e];
      }
      this.byDegree = Uint32Array.from({ length: n }, (_, v) => v).sort((a, b) => this.degree[b] - this.degree[a]);
      const most = this.degree[this.byDegree[0]] || 1;
      this.weight = Float32Array.from(this.degree, (d) => 0.4 + Math.sqrt(d / most));
    }

    // --- parts of the page ---------------------------------------------------------------------
    build() {
      const { place, data } = this;
      const bar = make("div", "network-bar", undefined, place);
      const button = (text, action, parent = bar, label = "") => {
        const made = make("button", "", text, parent);
        made.type = "button";
        if (label) made.setAttribute("aria-label", label);
        made.addEventListener("click", action);
        return made;
      };
      const labelled = (text, field) => {
        const label = make("label", "", `${text} `, bar);
        label.append(field);
        return field;
      };
      if (this.hasNodes) {
        const search = labelled("Search", make("input"));
        search.type = "search";
        search.addEventListener("input", () => this.search(search.value));
      }
      if (this.hasNodes && this.levels[0].links) this.viewButton = button("", () => this.showBlocks(!this.blocks));
      if (this.levels.length > 1) {
        const slider = labelled("Level", make("input"));
        Object.assign(slider, { type: "range", min: 0, max: this.levels.length - 1, value: 0 });
        this.levelText = make("output", "", "", bar);
        slider.addEventListener("input", () => this.setLevel(Number(slider.value)));
      }
      if (this.hasNodes && data.colours.length) {
        const select = labelled("Colours", make("select"));
        for (const name of ["block", ...data.colours.map((one) => one.name)]) make("option", "", name, select);
        select.addEventListener("change", () => { this.colouring = select.selectedIndex - 1; this.chosen = null; this.legend(); this.changed(); });
      }
      this.colouring = -1;
      button("+", () => this.zoom(1.5), bar, "zoom in");
      button("−", () => this.zoom(1 / 1.5), bar, "zoom out");
      button("Whole network", () => this.fit());
      this.results = make("div", "network-found", undefined, place);
      const stage = make("div", "network-stage", undefined, place);
      this.canvas = make("canvas", "", undefined, stage);
      this.canvas.tabIndex = 0;
      this.canvas.setAttribute("role", "img");
      this.canvas.setAttribute("aria-label", `Drawing of ${count(data.nodes, "node")} and ${count(data.edges, "edge")}. ` +
        "Arrow keys move it, plus and minus zoom, 0 shows all. The table below has the same content.");
      this.map = make("canvas", "network-map", undefined, stage);
      this.map.setAttribute("aria-hidden", "true");
      this.tip = make("div", "network-tip", undefined, stage);
      this.tip.hidden = true;
      this.about = make("div", "network-about", undefined, place);
      this.about.setAttribute("aria-live", "polite");
      this.key = make("div", "network-key", undefined, place);
      const sampled = this.hasNodes && this.target.length < data.edges;
      make("p", "caption", "Drag to move; click the drawing, then the wheel zooms. Click a node to see its neighbours, double-click a block to open or close it." +
        (sampled ? ` A random choice of ${this.target.length.toLocaleString("en")} edges is drawn.` : "") +
        (this.hasNodes ? "" : " The nodes are too many to be drawn; the blocks are shown."), place);
      const details = make("details", "", undefined, place);
      make("summary", "", "The same as a table", details);
      this.table = make("div", "scroll", undefined, details);
      this.table.tabIndex = 0;
      this.table.setAttribute("role", "group");
      this.table.setAttribute("aria-label", "table of the network");
      this.button = button;
      this.events();
    }

    get current() { return this.levels[this.level]; }
    blockOf(v) { return this.current.of[v]; }
    closed(v) { return this.blocks && !this.open.has(this.blockOf(v)); }
    reach(b) { return 4 + Math.sqrt(this.current.sizes[b] / this.data.nodes) * 0.2 * Math.min(this.canvas.clientWidth, this.canvas.clientHeight) * Math.min(3, this.view.scale / this.whole); }

    showBlocks(blocks) {
      this.blocks = Boolean(blocks);
      this.open.clear();
      if (this.viewButton) this.viewButton.textContent = this.blocks ? "Show the nodes" : "Show the blocks";
      this.legend();
      this.changed();
    }

    setLevel(level) {
      this.level = level;
      this.open.clear();
      this.choose(null);
      this.legend();
    }

    styleOf(v) {
      return this.colouring < 0 ? this.current.style[this.blockOf(v)] : this.data.colours[this.colouring].style[v];
    }

    legend() {
      const level = this.current, own = this.colouring >= 0 && this.data.colours[this.colouring];
      if (this.levelText) this.levelText.textContent = count(level.sizes.length, "block");
      this.key.replaceChildren();
      const entries = own ? own.legend.map((name, i) => [i, name, { style: i }])
        : level.sizes.map((size, b) => [size, b]).sort((a, b) => b[0] - a[0]).slice(0, MOST_LEGEND)
          .map(([size, b]) => [level.style[b], `${level.names[b]} (${size.toLocaleString("en")})`, { block: b }]);
      for (const [style, name, what] of entries) {
        const made = this.button("", () => this.choose(what), this.key);
        make("span", `swatch n${style % COLOURS}${style >= COLOURS ? " hollow" : ""}${own?.ordered ? " ordered" : ""}`, undefined, made);
        made.append(` ${name}`);
      }
      if (!own && level.sizes.length > MOST_LEGEND) make("span", "", `and ${level.sizes.length - MOST_LEGEND} more blocks`, this.key);
      this.rows();
    }

    // Choose a node, a block or a value: light it up, describe it, list it.
    choose(what, fly = false) {
      this.chosen = what;
      this.about.replaceChildren();
      if (what?.node !== undefined) {
        const v = what.node, near = this.neighbours(v);
        make("b", "", this.data.names[v], this.about);
        this.about.append(`: ${this.current.names[this.blockOf(v)]}, ${count(this.degree[v], "edge")}. Neighbours: `);
        for (const w of near.slice(0, 12)) this.button(this.data.names[w], () => this.choose({ node: w }, true), this.about);
        if (near.length > 12) this.about.append(` and ${near.length - 12} more`);
        if (fly && this.closed(v)) this.open.add(this.blockOf(v));
        if (fly) this.fly(this.x[v], this.y[v], Math.max(this.view.scale, this.whole * 4));
      } else if (what?.block !== undefined) {
        const b = what.block, level = this.current;
        make("b", "", level.names[b], this.about);
        this.about.append(`: ${count(level.sizes[b], "node")}${level.inside ? `, ${count(level.inside[b], "edge")} inside` : ""}. `);
        if (this.blocks && this.hasNodes) this.button(this.open.has(b) ? "Close the block" : "Open the block", () => this.toggle(b), this.about);
      }
      const block = what?.node !== undefined ? this.levels[0].of[what.node] : this.level ? undefined : what?.block;
      if (block !== undefined) { // the application lists its nodes
        const detail = this.levels[0].numbers[block];
        this.place.dispatchEvent(new CustomEvent("coterie:block", { bubbles: true, detail }));
      }
      if (what) this.button("Clear", () => this.choose(null), this.about);
      this.rows();
      this.changed();
    }

    toggle(b) {
      if (!this.hasNodes) return;
      if (!this.open.delete(b)) this.open.add(b);
      this.choose({ block: b });
    }

    neighbours(v) {
      return [...new Set(this.near.subarray(this.start[v], this.start[v + 1]))];
    }

    search(text) {
      const wanted = text.trim().toLowerCase();
      this.results.replaceChildren();
      if (!wanted) return;
      let found = 0;
      for (const v of this.byDegree) {
        if (!this.data.names[v].toLowerCase().includes(wanted)) continue;
        found += 1;
        if (found > 8) break;
        this.button(this.data.names[v], () => this.choose({ node: v }, true), this.results);
      }
      make("span", "", found ? (found > 8 ? "There are more; type more letters." : "") : `No node has “${text.trim()}” in its name.`, this.results);
    }

    // The table: the blocks, or the nodes of the chosen block, or the neighbours of the chosen node.
    rows() {
      const what = this.chosen, level = this.current;
      const table = make("table"), head = make("tr", "", undefined, make("thead", "", undefined, table)), body = make("tbody", "", undefined, table);
      const nodes = !this.hasNodes ? null : what?.node !== undefined ? this.neighbours(what.node)
        : what?.block !== undefined ? [...this.byDegree].filter((v) => level.of[v] === what.block) : null;
      const all = nodes ?? level.sizes.map((_, b) => b).sort((a, b) => level.sizes[b] - level.sizes[a]);
      for (const name of nodes ? ["node", "block", "edges"] : ["block", "nodes", "edges inside"]) make("th", "t", name, head);
      for (const one of all.slice(0, MOST_ROWS)) {
        const row = make("tr", "", undefined, body), first = make("td", "t", undefined, row);
        this.button(nodes ? this.data.names[one] : level.names[one], () => this.choose(nodes ? { node: one } : { block: one }, true), first);
        make("td", "t", nodes ? level.names[level.of[one]] : level.sizes[one].toLocaleString("en"), row);
        make("td", "", nodes ? this.degree[one].toLocaleString("en") : (level.inside?.[one] ?? "").toLocaleString("en"), row);
      }
      this.table.replaceChildren(table);
      if (all.length > MOST_ROWS) make("p", "caption", `The first ${MOST_ROWS} of ${all.length.toLocaleString("en")}.`, this.table);
    }

    // --- view ----------------------------------------------------------------------------------
    resize() {
      const { canvas } = this, ratio = Math.min(devicePixelRatio || 1, 2);
      if (!canvas.clientWidth) return;
      this.ratio = ratio;
      for (const one of [canvas, this.map]) {
        one.width = one.clientWidth * ratio;
        one.height = one.clientHeight * ratio;
      }
      this.scene = document.createElement("canvas");
      this.scene.width = canvas.width;
      this.scene.height = canvas.height;
      this.fit();
    }

    get box() {
      const xs = this.hasNodes ? this.x : this.current.x, ys = this.hasNodes ? this.y : this.current.y;
      let [a, b, c, d] = [Infinity, -Infinity, Infinity, -Infinity];
      for (let i = 0; i < xs.length; i += 1) {
        a = Math.min(a, xs[i]); b = Math.max(b, xs[i]); c = Math.min(c, ys[i]); d = Math.max(d, ys[i]);
      }
      return [a, b, c, d];
    }

    fit() {
      const [a, b, c, d] = this.box, { clientWidth, clientHeight } = this.canvas;
      this.whole = 0.86 * Math.min(clientWidth / Math.max(b - a, 1), clientHeight / Math.max(d - c, 1));
      this.view = { x: (a + b) / 2, y: (c + d) / 2, scale: this.whole };
      this.changed(true);
    }

    fly(x, y, scale) {
      const from = this.view, began = performance.now(), last = still.matches ? 0 : 500;
      const step = (now) => {
        const t = last ? Math.min(1, Math.max(0, now - began) / last) : 1, ease = t * t * (3 - 2 * t);
        this.view = { x: from.x + (x - from.x) * ease, y: from.y + (y - from.y) * ease, scale: from.scale * (scale / from.scale) ** ease };
        this.moved();
        if (t < 1) requestAnimationFrame(step);
      };
      requestAnimationFrame(step);
    }

    zoom(factor, px = this.canvas.clientWidth / 2, py = this.canvas.clientHeight / 2) {
      const { view } = this, [x, y] = this.world(px, py), scale = Math.min(Math.max(view.scale * factor, this.whole / 4), this.whole * 400);
      this.view = { scale, x: x - (px - this.canvas.clientWidth / 2) / scale, y: y + (py - this.canvas.clientHeight / 2) / scale };
      this.moved();
    }

    pan(dx, dy) {
      const { x, y, scale } = this.view;
      this.view = { x: x - dx / scale, y: y + dy / scale, scale };
      this.moved();
    }

    // Between pixels of the canvas and places of the data, whose y axis points up
    world(px, py) {
      const { x, y, scale } = this.view;
      return [x + (px - this.canvas.clientWidth / 2) / scale, y - (py - this.canvas.clientHeight / 2) / scale];
    }
    screen(x, y, view = this.view) {
      return [(x - view.x) * view.scale + this.canvas.clientWidth / 2, (view.y - y) * view.scale + this.canvas.clientHeight / 2];
    }

    moved() {
      clearTimeout(this.rest);
      this.moving = true;
      this.rest = setTimeout(() => { this.moving = false; this.changed(); }, 150);
      this.changed();
    }

    changed(redrawMap = false) {
      this.redrawMap ||= redrawMap;
      if (!this.scene || this.waiting) return;
      this.waiting = requestAnimationFrame(() => { this.waiting = 0; this.draw(); });
    }

    colours() {
      const css = getComputedStyle(this.place), read = (name) => css.getPropertyValue(name).trim();
      this.ink = read("--ink");
      this.muted = read("--muted");
      this.surface = read("--surface");
      this.palette = Array.from({ length: COLOURS }, (_, i) => read(`--n${i}`));
      this.ordered = Array.from({ length: COLOURS }, (_, i) => read(`--v${i}`));
    }

    colour(style) {
      if (style === MISSING) return this.muted;
      const own = this.colouring >= 0 && this.data.colours[this.colouring];
      return (own?.ordered ? this.ordered : this.palette)[style % COLOURS];
    }

    // --- drawing -------------------------------------------------------------------------------
    draw() {
      const began = performance.now(), context = this.canvas.getContext("2d");
      if (!(this.moving && this.cost > SLOW)) {
        this.paint(this.scene.getContext("2d"), this.view, this.ratio);
        this.painted = this.view;
        this.cost = performance.now() - began;
      }
      const { width, height } = this.canvas, grow = this.view.scale / this.painted.scale;
      const [px, py] = this.screen(this.painted.x, this.painted.y);
      context.setTransform(1, 0, 0, 1, 0, 0);
      context.clearRect(0, 0, width, height);
      const dim = this.chosen || this.hovered >= 0;
      context.globalAlpha = dim ? 0.3 : 1;
      context.drawImage(this.scene, px * this.ratio - (width * grow) / 2, py * this.ratio - (height * grow) / 2, width * grow, height * grow);
      context.globalAlpha = 1;
      context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
      this.light(context);
      this.names(context);
      this.drawMap();
      this.frames = (this.frames || 0) + 1;
    }

    at(v, view) { // where a node, or the closed block that contains it, is on the screen
      if (!this.closed(v)) return this.screen(this.x[v], this.y[v], view);
      const b = this.blockOf(v);
      return this.screen(this.current.x[b], this.current.y[b], view);
    }

    radius(v) {
      const grow = Math.min(3, Math.sqrt(this.view.scale / this.whole));
      return Math.max(0.7, Math.min(4, 90 / Math.sqrt(this.data.nodes)) * this.weight[v] * grow);
    }

    paint(context, view, ratio) {
      const level = this.current, width = this.canvas.clientWidth, height = this.canvas.clientHeight;
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.clearRect(0, 0, width, height);
      if (this.blocks) this.paintLinks(context, view);
      if (this.hasNodes && (!this.blocks || this.open.size)) {
        this.paintEdges(context, view, width, height);
        for (const v of this.byDegree) {
          if (this.closed(v)) continue;
          const [px, py] = this.screen(this.x[v], this.y[v], view), r = this.radius(v);
          if (px < -r || py < -r || px > width + r || py > height + r) continue;
          this.dot(context, px, py, r, this.styleOf(v));
        }
      }
      if (!this.blocks) return;
      for (let b = 0; b < level.sizes.length; b += 1) {
        if (this.open.has(b)) continue;
        const [px, py] = this.screen(level.x[b], level.y[b], view);
        this.dot(context, px, py, this.reach(b), level.style[b]);
      }
    }

    dot(context, px, py, r, style) {
      context.fillStyle = this.colour(style);
      if (r < 1.6) {
        context.fillRect(px - r, py - r, 2 * r, 2 * r);
        return;
      }
      context.beginPath();
      context.arc(px, py, r, 0, 2 * Math.PI);
      context.fill();
      if (style >= COLOURS && style < STYLES && r > 2) { // a ring: the second seven blocks
        context.fillStyle = this.surface;
        context.beginPath();
        context.arc(px, py, r * 0.55, 0, 2 * Math.PI);
        context.fill();
      }
    }

    paintLinks(context, view) {
      const { links, x, y } = this.current, [first, second, number] = links, most = Math.max(1, ...number);
      context.strokeStyle = this.muted;
      for (let i = 0; i < first.length; i += 1) {
        const share = Math.sqrt(number[i] / most);
        if (share < 0.03) continue;
        context.globalAlpha = 0.1 + 0.5 * share;
        context.lineWidth = 0.5 + 6 * share;
        context.beginPath();
        context.moveTo(...this.screen(x[first[i]], y[first[i]], view));
        context.lineTo(...this.screen(x[second[i]], y[second[i]], view));
        context.stroke();
      }
      context.globalAlpha = 1;
    }

    // Short paths: one path of many thousand lines is much slower than the same lines in parts.
    paintEdges(context, view, width, height) {
      const { source, target } = this, m = source.length;
      context.strokeStyle = this.muted;
      context.lineWidth = 0.6;
      context.globalAlpha = Math.max(0.03, Math.min(0.45, 60 / Math.sqrt(m + 1) * 0.4));
      context.beginPath();
      for (let e = 0, n = 0; e < m; e += 1) {
        const a = source[e], b = target[e];
        if (this.blocks && this.closed(a) && this.closed(b)) continue;
        const [ax, ay] = this.at(a, view), [bx, by] = this.at(b, view);
        if ((ax < 0 && bx < 0) || (ay < 0 && by < 0) || (ax > width && bx > width) || (ay > height && by > height)) continue;
        context.moveTo(ax, ay);
        context.lineTo(bx, by);
        n += 1;
        if (n % 64 === 0) {
          context.stroke();
          context.beginPath();
        }
      }
      context.stroke();
      context.globalAlpha = 1;
    }

    // What is chosen or under the pointer, on top of the paler rest
    light(context) {
      const what = this.chosen, v = this.hovered >= 0 ? this.hovered : what?.node ?? -1;
      if (v >= 0) {
        const near = this.neighbours(v), [px, py] = this.at(v);
        context.strokeStyle = this.colour(this.styleOf(v));
        context.lineWidth = 1;
        for (const w of near) {
          context.beginPath();
          context.moveTo(px, py);
          context.lineTo(...this.at(w));
          context.stroke();
        }
        for (const w of [...near, v]) if (!this.closed(w)) this.dot(context, ...this.at(w), this.radius(w) + 1, this.styleOf(w));
      } else if (what?.block !== undefined && this.blocks && !this.open.has(what.block)) {
        const b = what.block, { links, x, y, style } = this.current, [first, second] = links, here = this.screen(x[b], y[b]);
        context.strokeStyle = this.colour(style[b]);
        for (let i = 0; i < first.length; i += 1) {
          if (first[i] !== b && second[i] !== b) continue;
          const other = first[i] === b ? second[i] : first[i];
          context.beginPath();
          context.moveTo(...here);
          context.lineTo(...this.screen(x[other], y[other]));
          context.stroke();
        }
        this.dot(context, ...here, this.reach(b), style[b]);
      } else if (what) {
        for (const w of this.byDegree) {
          const lit = what.block !== undefined ? this.blockOf(w) === what.block : this.styleOf(w) === what.style;
          if (lit && !this.closed(w)) this.dot(context, ...this.at(w), this.radius(w), this.styleOf(w));
        }
      }
    }

    // Names of the largest blocks or best-connected nodes that do not cover each other
    names(context) {
      const { clientWidth: width, clientHeight: height } = this.canvas, taken = [], level = this.current;
      context.font = "12px system-ui, sans-serif";
      context.lineWidth = 3;
      context.strokeStyle = this.surface;
      context.fillStyle = this.ink;
      const write = (text, px, py) => {
        if (px < 0 || py < 0 || px > width || py > height) return;
        const name = text.length > 28 ? `${text.slice(0, 27)}…` : text, wide = context.measureText(name).width;
        const box = [px - wide / 2 - 2, py - 8, px + wide / 2 + 2, py + 8];
        if (taken.some((b) => box[0] < b[2] && b[0] < box[2] && box[1] < b[3] && b[1] < box[3])) return;
        taken.push(box);
        context.strokeText(name, px - wide / 2, py + 4);
        context.fillText(name, px - wide / 2, py + 4);
      };
      const named = this.hovered >= 0 ? this.hovered : this.chosen?.node ?? -1;
      if (named >= 0) {
        const [px, py] = this.at(named);
        write(this.data.names[named], px, py - 14);
      }
      if (this.blocks) {
        const order = level.sizes.map((_, b) => b).sort((a, b) => level.sizes[b] - level.sizes[a]);
        for (const b of order) if (taken.length < 60) write(level.names[b], ...this.screen(level.x[b], level.y[b]));
      }
      if (!this.hasNodes || (this.blocks && !this.open.size)) return;
      let tried = 0;
      for (const v of this.byDegree) {
        if (this.closed(v)) continue;
        const [px, py] = this.screen(this.x[v], this.y[v]);
        if (px < 0 || py < 0 || px > width || py > height) continue;
        write(this.data.names[v], px, py - this.radius(v) - 8);
        tried += 1;
        if (tried > 150 || taken.length > 40) break;
      }
    }

    // The whole network in a corner, with a frame around what is shown
    drawMap() {
      const { map } = this, context = map.getContext("2d"), [a, b, c, d] = this.box;
      const scale = 0.9 * Math.min(map.width / Math.max(b - a, 1), map.height / Math.max(d - c, 1));
      const to = (x, y) => [(x - (a + b) / 2) * scale + map.width / 2, ((c + d) / 2 - y) * scale + map.height / 2];
      this.fromMap = (px, py) => [(px * this.ratio - map.width / 2) / scale + (a + b) / 2, (c + d) / 2 - (py * this.ratio - map.height / 2) / scale];
      if (this.redrawMap || !this.small) {
        this.redrawMap = false;
        this.small = document.createElement("canvas");
        this.small.width = map.width;
        this.small.height = map.height;
        const small = this.small.getContext("2d"), n = this.hasNodes ? this.data.nodes : this.current.sizes.length;
        for (let i = 0; i < n; i += Math.ceil(n / 20000)) {
          small.fillStyle = this.colour(this.hasNodes ? this.styleOf(i) : this.current.style[i]);
          small.fillRect(...to(this.hasNodes ? this.x[i] : this.current.x[i], this.hasNodes ? this.y[i] : this.current.y[i]), 1.5, 1.5);
        }
      }
      context.clearRect(0, 0, map.width, map.height);
      context.drawImage(this.small, 0, 0);
      const [left, top] = to(...this.world(0, 0)), [right, bottom] = to(...this.world(this.canvas.clientWidth, this.canvas.clientHeight));
      context.strokeStyle = this.ink;
      context.strokeRect(left, top, right - left, bottom - top);
    }

    // --- pointer and keys ----------------------------------------------------------------------
    under(px, py) { // the node or the closed block at a point
      if (this.blocks) {
        const { sizes, x, y } = this.current;
        for (let b = 0; b < sizes.length; b += 1) {
          const [bx, by] = this.screen(x[b], y[b]);
          if (!this.open.has(b) && Math.hypot(bx - px, by - py) <= this.reach(b)) return { block: b };
        }
      }
      if (!this.hasNodes || (this.blocks && !this.open.size)) return null;
      let best = -1, least = Infinity;
      for (let v = 0; v < this.data.nodes; v += 1) {
        if (this.closed(v)) continue;
        const [vx, vy] = this.screen(this.x[v], this.y[v]), far = Math.hypot(vx - px, vy - py) - this.radius(v);
        if (far < least) [best, least] = [v, far];
      }
      return least < 6 ? { node: best } : null;
    }

    events() {
      const { canvas, map } = this, pointers = new Map();
      const here = (event, of = canvas) => {
        const box = of.getBoundingClientRect();
        return [event.clientX - box.left, event.clientY - box.top];
      };
      let dragged = 0;
      canvas.addEventListener("pointerdown", (event) => {
        canvas.focus({ preventScroll: true });
        canvas.setPointerCapture(event.pointerId);
        pointers.set(event.pointerId, here(event));
        dragged = 0;
      });
      canvas.addEventListener("pointermove", (event) => {
        const [px, py] = here(event), before = pointers.get(event.pointerId);
        if (!before) {
          this.hover(this.under(px, py), px, py);
          return;
        }
        dragged += Math.hypot(px - before[0], py - before[1]);
        if (pointers.size === 1) {
          this.pan(px - before[0], py - before[1]);
        } else {
          const [other] = [...pointers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
          const far = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]);
          this.zoom(far([px, py]) / Math.max(far(before), 1), (px + other[0]) / 2, (py + other[1]) / 2);
        }
        pointers.set(event.pointerId, [px, py]);
      });
      for (const name of ["pointerup", "pointercancel"]) {
        canvas.addEventListener(name, (event) => {
          if (name === "pointerup" && pointers.size === 1 && dragged < 5) this.choose(this.under(...here(event)));
          pointers.delete(event.pointerId);
        });
      }
      canvas.addEventListener("pointerleave", () => this.hover(null));
      canvas.addEventListener("dblclick", (event) => {
        const found = this.under(...here(event));
        if (found?.block !== undefined) this.toggle(found.block);
        else if (found && this.blocks) this.toggle(this.blockOf(found.node));
        else this.zoom(2, ...here(event));
      });
      canvas.addEventListener("wheel", (event) => {
        if (document.activeElement !== canvas && !event.ctrlKey) return; // the page scrolls
        event.preventDefault();
        this.zoom(Math.exp(-event.deltaY / 400), ...here(event));
      }, { passive: false });
      const keys = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
      canvas.addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        if (keys[event.key]) this.pan(...keys[event.key]);
        else if (event.key === "+" || event.key === "=") this.zoom(1.5);
        else if (event.key === "-") this.zoom(1 / 1.5);
        else if (event.key === "0") this.fit();
        else if (event.key === "Escape") this.choose(null);
        else return;
        event.preventDefault();
      });
      const goTo = (event) => {
        if (!event.buttons) return;
        const [x, y] = this.fromMap(...here(event, map));
        this.view = { ...this.view, x, y };
        this.moved();
      };
      map.addEventListener("pointerdown", goTo);
      map.addEventListener("pointermove", goTo);
    }

    hover(found, px, py) {
      const v = found?.node ?? -1;
      this.tip.hidden = !found;
      if (found) {
        this.tip.textContent = v >= 0 ? `${this.data.names[v]}\n${this.current.names[this.blockOf(v)]}\n${count(this.degree[v], "edge")}`
          : `${this.current.names[found.block]}\n${count(this.current.sizes[found.block], "node")}`;
        const left = px > this.canvas.clientWidth / 2;
        this.tip.style.left = left ? "auto" : `${px + 14}px`;
        this.tip.style.right = left ? `${this.canvas.clientWidth - px + 14}px` : "auto";
        this.tip.style.top = `${py + 14}px`;
      }
      if (v !== this.hovered) {
        this.hovered = v;
        this.changed();
      }
    }
  }

  const start = async () => {
    for (const place of document.querySelectorAll(".network-widget:not(.on)")) {
      place.classList.add("on"); // hides the picture next to it
      try {
        const data = place.dataset.source ? await (await fetch(place.dataset.source)).json() : JSON.parse(place.querySelector("script").textContent);
        place.network = new Network(place, data);
      } catch (error) {
        place.classList.replace("on", "failed"); // the picture stays
        console.error(error);
      }
    }
  };
  document.addEventListener("coterie:drawn", start); // the application draws parts of a page again
  start();
})();
