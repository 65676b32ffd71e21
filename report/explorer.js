// The explorer: chooses among the runs in #explorer-data and draws them as one SVG. Its state is the address's hash.
(() => {
  const form = document.querySelector("form.explorer");
  const data = JSON.parse(document.getElementById("explorer-data").textContent);
  if (!form || !data.runs.length) return;

  const runs = data.runs.map(
    ([machine, graph, algorithm, width, time, low, high, init, transfer, call, peak, working, joules, grade, flags, day, commit]) => ({
      machine: data.machines[machine],
      graph: data.graphs[graph],
      algorithm: data.algorithms[algorithm],
      width, time, low, high, init, transfer, call, peak, working, joules, grade, flags, day, commit,
    }),
  );
  const whole = (run) => run.time + (run.init ?? 0) + (run.transfer ?? 0);
  const plain = (value) => value && { value, low: null, high: null };
  // The sign is 1 if less is better.
  const metrics = {
    time: {
      name: "time to find the forest", unit: "s", sign: 1,
      of: (run) => ({ value: run.time, low: run.low, high: run.high }),
    },
    whole: { name: "time with preparation and transfers", unit: "s", sign: 1, of: (run) => plain(whole(run)) },
    call: { name: "time of a whole call, from arrays to the forest", unit: "s", sign: 1, of: (run) => plain(run.call) },
    throughput: {
      name: "undirected edges per second", unit: "edges/s", sign: -1,
      of: (run) => ({ value: run.graph.m / run.time, low: run.graph.m / run.high, high: run.graph.m / run.low }),
    },
    speedup: { name: "speedup", unit: "×", sign: -1, of: (run) => ratio(same(run, state.baseline, FASTEST), run) },
    "self-speedup": {
      name: "self-speedup, T(1) / T(p)", unit: "×", sign: -1,
      of: (run) => (["threads", "mpi", "cuda"].includes(run.algorithm.paradigm) ? ratio(same(run, run.algorithm.name, 1), run) : null),
    },
    peak: { name: "peak resident memory", unit: "B", sign: 1, of: (run) => plain(run.peak) },
    working: { name: "working memory per edge", unit: "B/edge", sign: 1, of: (run) => plain(run.working / run.graph.m) },
    energy: { name: "energy per solve", unit: "J", sign: 1, of: (run) => plain(run.joules) },
  };
  const views = { graph: "a panel for each graph", size: "against the number of edges m", width: "against the width" };
  const lists = { machines: data.machines, graphs: data.graphs, algorithms: data.algorithms };
  const MOST_PANELS = 24;
  const LETTER = 7.4; // the width of a letter of 12 pixels in the widest common font, on average

  const runOf = new Map(runs.map((run) => [keyOf(run, run.algorithm.name, run.width), run]));
  function keyOf(run, algorithm, width) {
    return [run.machine.name, run.graph.name, algorithm, width].join("\0");
  }
  const FASTEST = "fastest";
  for (const run of runs) {
    const key = keyOf(run, run.algorithm.name, FASTEST);
    if (!(runOf.get(key)?.time <= run.time)) runOf.set(key, run);
  }
  // The run of another algorithm beside this one, at a width or the fastest.
  const same = (run, algorithm, width) => runOf.get(keyOf(run, algorithm, width));
  function ratio(base, run) {
    if (!base) return null;
    const half = (r) => Math.log(r.high / r.low) / 2;
    const error = base === run ? 0 : Math.exp(Math.hypot(half(base), half(run)));
    const value = base.time / run.time;
    return error ? { value, low: value / error, high: value * error } : { value, low: value, high: value };
  }

  // State and address

  const usable = Object.keys(metrics).filter((name) =>
    name.endsWith("speedup") || runs.some((run) => metrics[name].of(run)),
  );
  const initial = () => ({
    metric: "time", baseline: data.baseline, view: "graph", width: "best",
    machines: new Set(data.chosen.machines), graphs: new Set(data.chosen.graphs), algorithms: new Set(data.chosen.algorithms),
  });
  const state = initial();
  const HASH = "#explorer?";

  function readHash() {
    const fresh = initial();
    if (location.hash.startsWith(HASH)) {
      const given = new URLSearchParams(location.hash.slice(HASH.length));
      const allowed = { metric: usable, baseline: data.algorithms.map((a) => a.name), view: Object.keys(views), width: widths() };
      for (const [key, values] of Object.entries(allowed)) if (values.includes(given.get(key))) fresh[key] = given.get(key);
      for (const [key, items] of Object.entries(lists)) {
        if (!given.has(key)) continue;
        const names = new Set(given.getAll(key));
        fresh[key] = new Set(items.map((item) => item.name).filter((name) => names.has(name)));
      }
    }
    Object.assign(state, fresh);
  }

  function hash() {
    const usual = initial();
    const parts = new URLSearchParams();
    for (const key of ["metric", "baseline", "view", "width"]) if (state[key] !== usual[key]) parts.append(key, state[key]);
    for (const key of Object.keys(lists)) {
      const names = [...state[key]];
      if (names.length === usual[key].size && names.every((name) => usual[key].has(name))) continue;
      // None at all is a choice, too.
      for (const name of names.length ? names : [""]) parts.append(key, name);
    }
    return HASH + parts;
  }

  function widths() {
    return ["best", "all", ...[...new Set(runs.map((run) => run.width))].sort((a, b) => a - b).map(String)];
  }

  // Controls

  function node(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name in made) made[name] = value;
      else made.setAttribute(name, value);
    }
    made.append(...children);
    return made;
  }

  function fill(name, entries) {
    form.elements[name].append(...entries.map(([value, text]) => node("option", { value }, text)));
  }

  function buildControls() {
    fill("metric", usable.map((name) => [name, metrics[name].name]));
    fill("baseline", data.algorithms.map((a) => [a.name, a.name]));
    fill("view", Object.entries(views));
    fill("width", widths().map((w) => [w, { best: "the fastest of each", all: "all of them" }[w] ?? w]));
    for (const [key, items] of Object.entries(lists)) {
      const fieldset = form.querySelector(`[data-list=${key}]`);
      const buttons = node("span", { className: "all" });
      for (const [text, chosen] of [["all", true], ["none", false]]) {
        const button = node("button", { type: "button" }, text);
        button.setAttribute("aria-label", `${text} ${key}`);
        button.addEventListener("click", () => {
          state[key] = new Set(chosen ? items.map((item) => item.name) : []);
          changed();
        });
        buttons.append(button);
      }
      const boxes = items.map((item) => {
        const box = node("input", { type: "checkbox", name: key, value: item.name });
        const label = node("label", {}, box);
        if (item.paradigm) {
          const mark = node("span", { className: "mark" }, "●");
          mark.style.color = `var(--c${item.colour})`;
          mark.setAttribute("aria-hidden", "true");
          label.append(mark);
        }
        label.append(` ${item.name}${item.exact === false ? " ≈" : ""}${item.reference ? " (reference)" : ""}`);
        return label;
      });
      fieldset.append(buttons, node("div", { className: "boxes" }, ...boxes));
    }
  }

  function showState() {
    for (const name of ["metric", "baseline", "view", "width"]) form.elements[name].value = state[name];
    for (const key of Object.keys(lists)) {
      for (const box of form.querySelectorAll(`input[name=${key}]`)) box.checked = state[key].has(box.value);
    }
    form.elements.baseline.disabled = state.metric !== "speedup";
    form.elements.width.disabled = state.view === "width";
  }

  function changed() {
    history.replaceState(null, "", hash());
    showState();
    draw();
  }

  // The chosen points

  function points() {
    const metric = metrics[state.metric];
    let chosen = runs.filter(
      (run) => state.machines.has(run.machine.name) && state.graphs.has(run.graph.name) && state.algorithms.has(run.algorithm.name),
    );
    if (state.view !== "width") {
      if (state.width === "best") {
        chosen = chosen.filter((run) => same(run, run.algorithm.name, FASTEST) === run);
      } else if (state.width !== "all") chosen = chosen.filter((run) => run.width === Number(state.width));
    }
    return chosen.flatMap((run) => {
      const measured = metric.of(run);
      return measured && measured.value > 0 && Number.isFinite(measured.value) ? [{ ...run, ...measured, run }] : [];
    });
  }

  function seriesOf(point) {
    const wide = point.width > 1 || state.width === "all";
    const unit = { threads: "thread", mpi: "rank", cuda: "GPU" }[point.algorithm.paradigm];
    const name = point.algorithm.name + (point.algorithm.exact === false ? " ≈" : "");
    return wide && unit ? `${name} · ${point.width} ${unit}${point.width > 1 ? "s" : ""}` : name;
  }

  const digits = (x) => (x >= 99.95 ? x.toFixed(0) : x >= 9.995 ? x.toFixed(1) : x.toPrecision(3)).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
  function scaled(value, steps) {
    const [limit, unit] = steps.find(([limit]) => value >= limit * 0.9995) ?? steps.at(-1);
    return `${digits(value / limit)} ${unit}`.trim();
  }
  function format(value, unit) {
    if (unit === "s") return scaled(value, [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]]);
    if (unit === "B" || unit === "B/edge") return scaled(value, [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]]);
    if (unit === "×") return `${digits(value)}×`;
    if (unit === "J") return scaled(value, [[1, "J"], [1e-3, "mJ"], [1e-6, "µJ"]]);
    return scaled(value, [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]]);
  }
  const described = (point) => {
    const unit = metrics[state.metric].unit;
    const interval = point.low && point.high > point.low ? ` (${format(point.low, unit)} to ${format(point.high, unit)})` : "";
    return `${seriesOf(point)} on ${point.graph.name}, ${point.machine.name}: ${format(point.value, unit)}${unit === "edges/s" ? " edges/s" : ""}${interval}`;
  };

  // Drawing

  const SVG = "http://www.w3.org/2000/svg";
  function svg(tag, attributes, ...children) {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) {
      made.setAttribute(name, typeof value === "number" ? Math.round(value * 100) / 100 : value);
    }
    made.append(...children);
    return made;
  }
  const text = (x, y, content, more = {}) => svg("text", { x, y, "font-size": 12, fill: "currentColor", ...more }, content);
  const line = (x1, y1, x2, y2, more = {}) => svg("line", { x1, y1, x2, y2, stroke: "var(--line)", ...more });
  const ink = (point) => `var(--c${point.algorithm.colour})`;

  function marker(point, x, y) {
    // Filled where it was measured here, hollow on reference machines, as on every page.
    const fill = point.machine.reference ? "none" : ink(point);
    const made = svg("circle", { cx: x, cy: y, r: 4.4, fill, stroke: ink(point), "stroke-width": 1.6 });
    made.append(svg("title", {}, described(point)));
    placed.push({ point, x, y });
    return made;
  }

  function scale(values, from, to) {
    let low = Math.log10(Math.min(...values)), high = Math.log10(Math.max(...values));
    const room = Math.max((high - low) * 0.05, 0.06);
    [low, high] = [low - room, high + room];
    const at = (value) => from + ((Math.log10(value) - low) / (high - low)) * (to - from);
    const ticks = [];
    const steps = high - low < 1.7 ? [1, 2, 5] : [1];
    for (let decade = Math.floor(low); decade <= high; decade++) {
      for (const step of steps) {
        const value = step * 10 ** decade;
        if (Math.log10(value) >= low && Math.log10(value) <= high) ticks.push(value);
      }
    }
    const every = Math.ceil(ticks.length / (Math.abs(to - from) / 58));
    return { at, ticks: ticks.filter((_, i) => i % every === 0) };
  }
  const ends = (list) => list.flatMap((p) => [p.value, p.low, p.high].filter((v) => v > 0));
  const grouped = (list, key) => {
    const groups = new Map();
    for (const item of list) groups.set(key(item), [...(groups.get(key(item)) ?? []), item]);
    return groups;
  };

  function heading(list, perGraph) {
    const { machine, graph } = list[0];
    const where = state.machines.size > 1 || !perGraph ? machine.name : "";
    return perGraph ? [graph.name, [where, `m = ${format(graph.m, "")}`].filter(Boolean).join(", ")] : [where, ""];
  }

  // A row for each series, best on top.
  function dots(list, width) {
    const { unit, sign } = metrics[state.metric];
    const rows = list.sort((a, b) => sign * (a.value - b.value));
    const label = Math.min(Math.max(...rows.map((p) => seriesOf(p).length)) * LETTER + 14, width * 0.5);
    const height = rows.length * 21 + 34;
    const x = scale([...ends(list), ...(unit === "×" ? [1] : [])], label + 6, width - 64);
    const panel = svg("g", {});
    for (const tick of x.ticks) {
      panel.append(line(x.at(tick), 0, x.at(tick), height - 30));
      panel.append(text(x.at(tick), height - 14, format(tick, unit), { "text-anchor": "middle", "font-size": 11 }));
    }
    if (unit === "×") panel.append(line(x.at(1), 0, x.at(1), height - 30, { stroke: "currentColor", "stroke-dasharray": "4 3" }));
    rows.forEach((point, i) => {
      const y = i * 21 + 12;
      panel.append(text(label, y + 4, clip(seriesOf(point), label / LETTER), { "text-anchor": "end" }));
      if (point.high > point.low) {
        panel.append(line(x.at(point.low), y, x.at(point.high), y, { stroke: ink(point), "stroke-width": 2, opacity: 0.55 }));
      }
      panel.append(marker(point, x.at(point.value), y));
      const end = Math.max(x.at(point.value), x.at(point.high > 0 ? point.high : point.value)) + 9;
      panel.append(text(end, y + 4, format(point.value, unit), { "font-size": 11, fill: "var(--soft)" }));
    });
    return { panel, height };
  }
  const clip = (content, most) => (content.length > most ? `${content.slice(0, Math.floor(most) - 1)}…` : content);

  // A line for each algorithm, named at its end.
  function lines(list, width, xOf, xUnit) {
    const unit = metrics[state.metric].unit;
    const names = grouped(list, (p) => (xUnit === "" && state.width === "all" ? seriesOf(p) : p.algorithm.name));
    const longest = Math.max(...[...names.keys()].map((name) => name.length));
    const label = Math.min(longest * LETTER + 16, width * 0.4);
    const height = Math.max(230, names.size * 14 + 50);
    const x = scale(list.map(xOf), 58, width - label - 6);
    const y = scale(ends(list), height - 40, 8);
    const panel = svg("g", {});
    for (const tick of y.ticks) {
      panel.append(line(58, y.at(tick), width - label, y.at(tick)));
      panel.append(text(52, y.at(tick) + 4, format(tick, unit), { "text-anchor": "end", "font-size": 11 }));
    }
    const stops = xUnit === "" ? x.ticks : [...new Set(list.map(xOf))].sort((a, b) => a - b);
    for (const stop of stops) {
      panel.append(text(x.at(stop), height - 22, xUnit === "" ? format(stop, "") : String(stop), { "text-anchor": "middle", "font-size": 11 }));
    }
    panel.append(text((58 + width - label) / 2, height - 5, xUnit === "" ? "undirected edges m" : "threads, ranks or GPUs", { "text-anchor": "middle", "font-size": 11, fill: "var(--soft)" }));
    if (state.metric === "self-speedup" && xUnit !== "") {
      const [low, high] = [Math.min(...list.map(xOf)), Math.min(Math.max(...list.map(xOf)), Math.max(...ends(list)))];
      panel.append(line(x.at(low), y.at(low), x.at(high), y.at(high), { stroke: "currentColor", "stroke-dasharray": "4 3", opacity: 0.6 }));
    }
    const labels = [];
    for (const [name, own] of names) {
      own.sort((a, b) => xOf(a) - xOf(b));
      const path = own.map((p, i) => `${i ? "L" : "M"}${x.at(xOf(p)).toFixed(1)} ${y.at(p.value).toFixed(1)}`).join("");
      const dash = data.dashes[own[0].algorithm.dash];
      panel.append(svg("path", { d: path, fill: "none", stroke: ink(own[0]), "stroke-width": 1.6, "stroke-dasharray": dash }));
      for (const p of own) {
        if (p.high > p.low) panel.append(line(x.at(xOf(p)), y.at(p.low), x.at(xOf(p)), y.at(p.high), { stroke: ink(p), "stroke-width": 2, opacity: 0.55 }));
        panel.append(marker(p, x.at(xOf(p)), y.at(p.value)));
      }
      const last = own.at(-1);
      labels.push({ name, from: [x.at(xOf(last)), y.at(last.value)], at: y.at(last.value), point: last });
    }
    labels.sort((a, b) => a.at - b.at);
    labels.forEach((l, i) => { if (i) l.at = Math.max(l.at, labels[i - 1].at + 13); });
    for (let i = labels.length - 1, limit = height - 40; i >= 0; i--, limit -= 13) labels[i].at = Math.min(labels[i].at, limit);
    for (const l of labels) {
      panel.append(line(l.from[0] + 6, l.from[1], width - label + 2, l.at, { stroke: ink(l.point), "stroke-width": 0.7, opacity: 0.6 }));
      panel.append(text(width - label + 5, l.at + 4, clip(l.name, label / LETTER), { "font-size": 11.5 }));
    }
    return { panel, height };
  }

  let placed = [];
  let current = -1;
  const chart = form.querySelector(".chart");
  const output = form.querySelector("output");

  function draw() {
    const list = points();
    placed = [];
    current = -1;
    const perGraph = state.view !== "size";
    const rank = (p) => String(data.machines.indexOf(p.machine)).padStart(3, "0");
    const key = (p) => [rank(p), perGraph ? `${String(p.graph.m).padStart(15, "0")} ${p.graph.name}` : ""].join("\0");
    const panels = [...grouped(list, key)].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, own]) => own);
    const total = Math.max(chart.clientWidth, 280);
    const columns = Math.max(1, Math.min(panels.length, Math.floor(total / 430)));
    const width = (total - 28 * (columns - 1)) / columns;
    const metric = metrics[state.metric];
    const subject = metric.name + (state.metric === "speedup" ? ` over ${state.baseline}` : "");
    const picture = svg("svg", { xmlns: SVG, role: "img", "aria-label": `${subject}, ${list.length} points, logarithmic; the table below has the numbers`, "font-family": "system-ui, sans-serif" });
    picture.append(text(0, 14, `${subject}, logarithmic`, { "font-weight": 600, "font-size": 13 }));
    let top = 36;
    for (let i = 0; i < Math.min(panels.length, MOST_PANELS); i += columns) {
      let tallest = 0;
      panels.slice(i, Math.min(i + columns, MOST_PANELS)).forEach((own, column) => {
        const before = placed.length;
        const made = state.view === "graph" ? dots(own, width)
          : state.view === "size" ? lines(own, width, (p) => p.graph.m, "")
          : lines(own, width, (p) => p.width, "width");
        const [left, below] = [column * (width + 28), top + 22];
        for (const entry of placed.slice(before)) { entry.x += left; entry.y += below; }
        const [name, facts] = heading(own, perGraph);
        const title = text(left, top + 10, name, { "font-weight": 600 });
        title.append(svg("tspan", { "font-weight": 400, fill: "var(--soft)", dx: 8 }, clip(facts, (width - 8) / LETTER - 1.15 * name.length)));
        made.panel.setAttribute("transform", `translate(${left.toFixed(1)} ${below})`);
        picture.append(title, made.panel);
        tallest = Math.max(tallest, made.height);
      });
      top += tallest + 44;
    }
    const height = Math.max(top - 10, 40);
    for (const [name, value] of Object.entries({ viewBox: `0 0 ${total} ${height}`, width: total, height })) picture.setAttribute(name, value);
    chart.replaceChildren(picture);
    output.textContent = summary(list, panels.length);
    showTable(list);
  }

  function summary(list, panels) {
    if (!list.length) {
      return state.metric === "speedup" && !runs.some((r) => state.machines.has(r.machine.name) && r.algorithm.name === state.baseline)
        ? `No run fits: ${state.baseline} was not run on the chosen machines.`
        : "No run fits this choice.";
    }
    const { unit, sign } = metrics[state.metric];
    const best = [...list].sort((a, b) => sign * (a.value - b.value))[0];
    // The smallest graph has the best time of several.
    const fair = ["×", "edges/s"].includes(unit) || new Set(list.map((p) => p.graph)).size === 1;
    const cut = panels > MOST_PANELS ? ` The first ${MOST_PANELS} of ${panels} panels are drawn; the table and the CSV have all of them.` : "";
    return `${list.length} points.${fair ? ` Best: ${described(best)}.` : ""}${cut}`;
  }

  const COLUMNS = ["machine", "graph", "n", "m", "algorithm", "paradigm", "width", "metric", "unit", "value", "low", "high", "proof", "flags", "date", "commit"];
  function cells(p) {
    const metric = state.metric === "speedup" ? `speedup over ${state.baseline}` : state.metric;
    return [p.machine.name, p.graph.name, p.graph.n, p.graph.m, p.algorithm.name, p.algorithm.paradigm, p.width, metric,
      metrics[state.metric].unit, Number(p.value.toPrecision(6)), p.low ? Number(p.low.toPrecision(6)) : "", p.high ? Number(p.high.toPrecision(6)) : "", p.grade ?? "", p.flags ?? "", p.day ?? "", p.commit ?? ""];
  }

  function showTable(list) {
    const wanted = ["machine", "graph", "algorithm", "width", "value", "low", "high", "proof", "flags", "date", "commit"];
    const unit = metrics[state.metric].unit;
    const head = node("tr", {}, ...wanted.map((name) => node("th", { scope: "col" }, name)));
    const body = list.map((p) => {
      const all = cells(p);
      return node("tr", {}, ...wanted.map((name) => {
        const value = all[COLUMNS.indexOf(name)];
        const number = ["value", "low", "high"].includes(name) && value !== "";
        return node("td", { className: number ? "number" : "" }, number ? format(value, unit) : String(value));
      }));
    });
    form.querySelector("details .scroll").replaceChildren(node("table", {}, node("thead", {}, head), node("tbody", {}, ...body)));
  }

  // Exports

  function csv() {
    const quoted = (value) => (/[",\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value));
    return [COLUMNS, ...points().map(cells)].map((row) => row.map(quoted).join(",")).join("\n") + "\n";
  }

  // Outside the page nothing gives the colours: they are written out, on white.
  function standalone() {
    const copy = chart.querySelector("svg").cloneNode(true);
    copy.querySelector(".here")?.remove();
    copy.prepend(svg("rect", { width: "100%", height: "100%", fill: "#ffffff" }));
    const fixed = { "--line": "#d9dde2", "--soft": "#59636e", ...Object.fromEntries(data.colours.map((c, i) => [`--c${i}`, c])) };
    return copy.outerHTML.replace(/var\((--\w+)\)/g, (_, name) => fixed[name]).replaceAll("currentColor", "#1b1f24");
  }

  function save(content, type, name) {
    const link = node("a", { href: URL.createObjectURL(new Blob([content], { type })), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  // Keys: arrows walk through the points, and announce each.

  chart.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const jump = { Home: 0, End: placed.length - 1 }[event.key];
    if ((step === undefined && jump === undefined) || !placed.length) return;
    event.preventDefault();
    current = jump ?? (current < 0 ? 0 : (current + step + placed.length) % placed.length);
    const { point, x, y } = placed[current];
    const picture = chart.querySelector("svg");
    picture.querySelector(".here")?.remove();
    picture.append(svg("circle", { class: "here", cx: x, cy: y, r: 9, fill: "none", stroke: "currentColor", "stroke-width": 2 }));
    output.textContent = described(point);
  });

  form.addEventListener("change", (event) => {
    const { name, value, type, checked } = event.target;
    if (type === "checkbox") state[name][checked ? "add" : "delete"](value);
    else state[name] = value;
    if (name === "metric" && value === "self-speedup") state.view = "width";
    changed();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    Object.assign(state, initial());
    changed();
  });
  form.elements.csv.addEventListener("click", () => save(csv(), "text/csv", `mst-${state.metric}.csv`));
  form.elements.svg.addEventListener("click", () => save(standalone(), "image/svg+xml", `mst-${state.metric}.svg`));
  form.elements.link.addEventListener("click", async () => {
    const address = location.href.split("#")[0] + hash();
    try {
      await navigator.clipboard.writeText(address);
      output.textContent = "The link is copied.";
    } catch {
      output.textContent = address;
    }
  });
  window.addEventListener("hashchange", () => {
    if (!location.hash.startsWith(HASH)) return;
    readHash();
    showState();
    draw();
  });
  let drawnAt = 0;
  new ResizeObserver(() => {
    if (Math.abs(chart.clientWidth - drawnAt) < 2) return;
    drawnAt = chart.clientWidth;
    draw();
  }).observe(chart);

  buildControls();
  readHash();
  form.hidden = false;
  showState();
  draw();
  if (location.hash.startsWith(HASH)) document.getElementById("explorer").scrollIntoView({ behavior: "instant" });
})();
