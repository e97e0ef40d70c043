// The pages are complete without this script, except for uploads. The script shows progress, draws
// pages again when something changed (also in another tab), and fetches lists on demand.
(() => {
  const byId = (id) => document.getElementById(id);

  // --- progress and changes ------------------------------------------------------------------
  const showJob = (job) => {
    const panel = byId("job");
    if (!panel || !job || panel.dataset.step !== job.step) return;
    byId("job-stage").textContent = job.stage;
    byId("job-note").textContent = job.note || "\u00a0";
    const bar = byId("job-bar");
    if (job.total) {
      bar.max = job.total;
      bar.value = Math.min(job.done, job.total);
    } else {
      bar.removeAttribute("value");
    }
    drawCurve(job.curve);
  };

  const drawCurve = (values) => {
    const line = document.querySelector("#job-curve polyline");
    if (!line || values.length < 2) return;
    const low = Math.min(...values), high = Math.max(...values);
    const x = (i) => 4 + (432 * i) / (values.length - 1);
    const y = (v) => 132 - (high > low ? (108 * (v - low)) / (high - low) : 54);
    line.setAttribute("points", values.map((v, i) => `${x(i).toFixed(1)},${y(v).toFixed(1)}`).join(" "));
    const last = values[values.length - 1];
    byId("job-entropy").textContent = `entropy ${last.toLocaleString("en", { maximumFractionDigits: 0 })}; lower is better`;
  };

  const typing = () => {
    const field = document.activeElement;
    if (!field || !byId("main").contains(field)) return false;
    if (field.matches("input[type=text], input[type=search], input[type=number]")) {
      return field.value !== field.defaultValue;
    }
    return false;
  };

  // What the user has entered and not sent survives when a page is drawn again.
  const entered = () =>
    [...document.querySelectorAll("#main form")].flatMap((form) =>
      [...form.elements]
        .filter((field) => field.name && !["hidden", "file", "range", "submit"].includes(field.type))
        .filter((field) => {
          if (field.matches("select")) return field.value !== (field.querySelector("option[selected]") || field.options[0])?.value;
          return field.type === "radio" ? field.checked && !field.defaultChecked : field.value !== field.defaultValue;
        })
        .map((field) => ({ action: form.getAttribute("action"), name: field.name, value: field.value })));
  const enterAgain = (fields) => {
    for (const { action, name, value } of fields) {
      for (const form of document.querySelectorAll("#main form")) {
        const field = form.getAttribute("action") === action && form.elements[name];
        if (field) field.value = value;
      }
    }
  };

  // As the server drew them: a part that did not change is left alone, with what is open in it.
  const drawn = { top: byId("top").innerHTML, main: byId("main").innerHTML };
  const show = (page) => {
    const open = [...document.querySelectorAll("#main details[open] > summary")].map((s) => s.textContent);
    const focused = document.activeElement && document.activeElement.id;
    const fields = entered();
    for (const id of ["top", "main"]) {
      const part = page.getElementById(id), text = part.innerHTML;
      if (text !== drawn[id]) byId(id).replaceChildren(...part.childNodes);
      drawn[id] = text;
    }
    if (!byId("job")) enterAgain(fields);
    for (const summary of document.querySelectorAll("#main details > summary")) {
      const settings = summary.parentElement.matches(".settings") && byId("job");
      if (open.includes(summary.textContent) && !settings) summary.parentElement.open = true;
    }
    if (focused && byId(focused)) byId(focused).focus();
    byId("news").hidden = true;
    prepare();
  };

  let fetching = false, again = false, forced = false; // forced: although the user types
  const redraw = async (force = false) => {
    if (fetching) {
      again = true;
      forced ||= force;
      return;
    }
    fetching = true;
    try {
      const answer = await fetch(location.href, { headers: { accept: "text/html" } });
      if (answer.ok) {
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        const same = ["top", "main"].every((id) => page.getElementById(id).innerHTML === drawn[id]);
        if (!same && !force && typing()) byId("news").hidden = false;
        else show(page);
      }
    } catch {
      // the server ended; the next event comes when it is back
    }
    fetching = false;
    if (again) {
      const insist = forced;
      again = forced = false;
      redraw(insist);
    }
  };

  const listen = () => {
    const events = new EventSource("/events");
    let lost = false;
    events.addEventListener("progress", (event) => {
      const job = JSON.parse(event.data).job;
      const drawn = document.querySelectorAll(".frontier .hit").length;
      if (job && job.points.length > drawn && document.body.dataset.step === "publish") redraw();
      showJob(job);
    });
    events.addEventListener("changed", (event) => {
      redraw();
      showJob(JSON.parse(event.data).job);
    });
    events.addEventListener("error", () => (lost = true));
    events.addEventListener("open", () => {
      if (lost) redraw();
      lost = false;
    });
    addEventListener("pagehide", () => events.close());
  };

  // --- uploads -------------------------------------------------------------------------------
  const upload = (file, address, problem, bar) => {
    problem.textContent = "";
    if (bar) bar.hidden = false;
    const request = new XMLHttpRequest();
    request.open("POST", address);
    request.setRequestHeader("X-File-Name", encodeURIComponent(file.name));
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.onprogress = (event) => bar && (bar.value = (100 * event.loaded) / event.total);
    request.onload = () => {
      if (bar) bar.hidden = true;
      let answer = {};
      try {
        answer = JSON.parse(request.responseText);
      } catch {
        // not JSON: the status says enough
      }
      if (request.status === 200) {
        if (location.pathname === answer.next) redraw(true);
        else location.href = answer.next;
      } else {
        problem.textContent = answer.detail || `The upload failed (${request.status}).`;
      }
    };
    request.onerror = () => {
      if (bar) bar.hidden = true;
      problem.textContent = "The upload was interrupted. The file may be too large, or the program has ended.";
    };
    request.send(file);
  };

  document.addEventListener("change", (event) => {
    const field = event.target;
    if (field.id === "file" && field.files.length) {
      upload(field.files[0], "/data/upload", byId("upload-problem"), byId("upload-bar"));
    } else if (field.dataset.upload && field.files.length) {
      upload(field.files[0], field.dataset.upload, byId(field.dataset.problem), null);
    } else if (field.name === "kind") {
      showColumns();
    } else if (field.id === "point-range") {
      const form = byId("point-form");
      fetch(form.action, {
        method: "POST",
        headers: { "Content-Type": "application/x-www-form-urlencoded" },
        body: new URLSearchParams({ point: form.elements.point.value }),
      });
    }
  });
  for (const [name, dropping] of [["dragover", true], ["dragleave", false], ["drop", false]]) {
    document.addEventListener(name, (event) => {
      const place = byId("drop");
      if (!place) return;
      event.preventDefault();
      place.classList.toggle("dropping", dropping);
      if (name === "drop" && event.dataTransfer.files.length) {
        upload(event.dataTransfer.files[0], "/data/upload", byId("upload-problem"), byId("upload-bar"));
      }
    });
  }

  // --- lists on demand -----------------------------------------------------------------------
  const fill = async (address, id) => {
    const place = byId(id);
    const answer = await fetch(address);
    if (!answer.ok || !place) return;
    // made by the server from a template that escapes every name
    const part = new DOMParser().parseFromString(await answer.text(), "text/html");
    place.replaceChildren(...part.body.childNodes);
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-fetch]");
    if (button) {
      for (const other of document.querySelectorAll("[data-fetch]")) {
        other.setAttribute("aria-pressed", String(other.dataset.fetch === button.dataset.fetch));
      }
      fill(button.dataset.fetch, button.dataset.into);
      return;
    }
    const mark = event.target.closest("main .chart .hit");
    if (mark && mark.closest(".frontier") && byId("point-range")) {
      const range = byId("point-range");
      const index = [...document.querySelectorAll(".frontier .hit")].indexOf(mark);
      range.value = range.dataset.order.split(",").indexOf(String(index));
      for (const name of ["input", "change"]) range.dispatchEvent(new Event(name, { bubbles: true }));
    } else if (mark && byId("members")) {
      const tip = mark.dataset.tip || mark.querySelector("title")?.textContent || "";
      const found = tip.match(/block (\d+)/);
      if (found) fill(`/explore/block/${found[1]}`, "members");
    }
    if (event.target.closest("#news button")) redraw(true);
  });

  let waiting = 0;
  document.addEventListener("input", (event) => {
    const field = event.target;
    if (field.dataset.search) {
      clearTimeout(waiting);
      waiting = setTimeout(() => fill(`${field.dataset.search}?q=${encodeURIComponent(field.value)}`, field.dataset.into), 150);
    } else if (field.id === "point-range") {
      showPoint(Number(field.dataset.order.split(",")[Number(field.value)]));
    }
  });

  const showPoint = (index) => {
    for (const part of document.querySelectorAll(".point")) {
      const shown = Number(part.dataset.index) === index;
      part.hidden = !shown;
      const heading = part.querySelector("h3");
      if (shown) {
        heading.id = "point-name";
        if (byId("setting-name")) byId("setting-name").textContent = heading.textContent;
      } else {
        heading.removeAttribute("id");
      }
    }
    for (const field of document.querySelectorAll('[name="point"]')) field.value = index;
    const marks = document.querySelectorAll(".frontier .hit");
    for (const [i, mark] of marks.entries()) {
      mark.querySelector(".chosen")?.remove();
      if (i === index) {
        const spot = mark.querySelector(".spot").cloneNode();
        spot.setAttribute("class", "chosen");
        spot.setAttribute("r", "11");
        mark.append(spot);
      }
    }
  };

  const showColumns = () => {
    const kind = document.querySelector('[name="kind"]:checked');
    if (!kind) return;
    for (const label of document.querySelectorAll("[data-kind]")) label.hidden = label.dataset.kind !== kind.value;
  };

  const prepare = () => {
    showColumns();
    fetch("/state").then((answer) => answer.ok && answer.json()).then((state) => state && showJob(state.job)).catch(() => {});
  };

  if (document.body.dataset.step) {
    prepare();
    listen();
  }
})();
