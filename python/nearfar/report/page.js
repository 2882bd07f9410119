"use strict";
(() => {
  const charts = JSON.parse(document.getElementById("targets").textContent);
  const tip = document.getElementById("tip");
  const namespace = "http://www.w3.org/2000/svg";
  const far = 60; // in the chart's own units: farther from every point nothing is shown

  const row = (name, value) => {
    const line = document.createElement("span");
    line.append(name);
    const number = document.createElement("em");
    number.style.fontStyle = "normal";
    number.append(value);
    line.append(number);
    return line;
  };

  const show = (svg, target, rings) => {
    const [x, y, second, series, label, rows] = target;
    rings.forEach((ring, i) => {
      ring.setAttribute("cx", x);
      ring.setAttribute("cy", i ? second : y);
      ring.setAttribute("class", `ring s${series}`);
      ring.style.display = "";
    });
    const head = document.createElement("b");
    head.append(label);
    tip.replaceChildren(head, ...rows.map(([name, value]) => row(name, value)));
    tip.hidden = false;
    const at = new DOMPoint(x, Math.min(y, second)).matrixTransform(svg.getScreenCTM());
    const box = tip.getBoundingClientRect();
    const left = Math.min(Math.max(8, at.x + 14), innerWidth - box.width - 8);
    const above = at.y - box.height - 14;
    tip.style.left = `${left}px`;
    tip.style.top = `${above > 8 ? above : at.y + 22}px`;
  };

  document.querySelectorAll(".chart").forEach((holder) => {
    const svg = holder.querySelector("svg");
    const targets = charts[Number(holder.dataset.chart)];
    const rings = [0, 1].map((i) => {
      const ring = document.createElementNS(namespace, "circle");
      ring.setAttribute("r", i ? 4 : 5);
      ring.style.display = "none";
      svg.append(ring);
      return ring;
    });
    let chosen = -1;

    const hide = () => {
      chosen = -1;
      tip.hidden = true;
      rings.forEach((ring) => { ring.style.display = "none"; });
    };
    const choose = (index) => {
      chosen = index;
      show(svg, targets[index], rings);
    };

    svg.addEventListener("pointermove", (event) => {
      const at = new DOMPoint(event.clientX, event.clientY)
        .matrixTransform(svg.getScreenCTM().inverse());
      let best = -1;
      let least = far;
      targets.forEach(([x, y, second], index) => {
        const dy = Math.min(Math.abs(y - at.y), Math.abs(second - at.y));
        const distance = Math.hypot(x - at.x, dy);
        if (distance < least) [best, least] = [index, distance];
      });
      if (best < 0) hide();
      else choose(best);
    });
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("blur", hide);
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (event.key === "Escape") hide();
      if (!step) return;
      event.preventDefault();
      choose((chosen + step + targets.length) % targets.length);
    });
  });

  const root = document.documentElement;
  const button = document.getElementById("theme");
  const remembered = "nearfar-theme";
  const dark = () => root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  const name = () => { button.textContent = dark() ? "Light" : "Dark"; };
  // A page opened from a file may have no storage; it then follows the system.
  try {
    const theme = localStorage.getItem(remembered);
    if (theme) root.dataset.theme = theme;
  } catch { /* nothing remembered */ }
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem(remembered, root.dataset.theme); } catch { /* not remembered */ }
    name();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", name);
  button.hidden = false;
  name();
})();
