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
    document.body.dataset.version = page.body.dataset.version;
    prepare();
  };

  // A page is not replaced under a button that is being pressed, nor before the server knows what
  // was chosen with the slider.
  let pressing = false, sending = 0, sent = 0;
  const waiting = [];
  const idle = () => new Promise((done) => (pressing || sending ? waiting.push(done) : done()));
  const goOn = () => {
    if (!pressing && !sending) for (const done of waiting.splice(0)) done();
  };
  const release = () => {
    pressing = false;
    goOn();
  };
  let tooLong = 0;
  addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    pressing = true;
    clearTimeout(tooLong);
    tooLong = setTimeout(release, 5000); // released somewhere else
  });
  for (const name of ["pointerup", "pointercancel"]) addEventListener(name, () => setTimeout(release));

  let fetching = false, again = false, forced = false; // forced: although the user types
  const redraw = async (force = false) => {
    if (fetching) {
      again = true;
      forced ||= force;
      return;
    }
    fetching = true;
    try {
      let answer, text, before;
      do {
        await idle();
        before = sent;
        answer = await fetch(location.href, { headers: { accept: "text/html" } });
        text = await answer.text();
        await idle();
      } while (sent !== before); // the page is older than the last choice
      if (answer.ok) {
        const page = new DOMParser().parseFromString(text, "text/html");
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

  // Every change has a number. A page that was drawn before the last change is drawn again, also if
  // the change came before the page began to listen.
  const redrawIfOlder = (version) => {
    if (version !== Number(document.body.dataset.version)) redraw();
  };
  const take = (kind, { job, version }) => {
    if (kind !== "progress") redrawIfOlder(version);
    if (kind === "hello") return;
    const marks = document.querySelectorAll(".frontier .hit").length;
    if (kind === "progress" && job && job.points > marks && document.body.dataset.step === "publish") redraw();
    showJob(job);
  };
  const catchUp = () =>
    fetch("/state").then((answer) => answer.ok && answer.json()).then((state) => state && take("changed", state)).catch(() => {});

  // One stream of events for all tabs, because a browser opens at most six connections to a server.
  // The tab that has the lock passes the events on. Hidden tabs neither listen nor have the lock.
  const channel = "BroadcastChannel" in window ? new BroadcastChannel("coterie-events") : null;
  let leave = null;
  const listen = () => {
    if (leave || document.hidden) return;
    const waiting = new AbortController();
    let events = null, release = () => {};
    const open = () => {
      events = new EventSource("/events");
      for (const kind of ["hello", "progress", "changed"]) {
        events.addEventListener(kind, (event) => {
          const data = JSON.parse(event.data);
          take(kind, data);
          channel?.postMessage({ kind, data });
        });
      }
    };
    leave = () => {
      leave = null;
      waiting.abort();
      events?.close();
      release();
    };
    if (channel && navigator.locks) {
      const hold = () => new Promise((done) => { release = done; open(); });
      navigator.locks.request("coterie-events", { signal: waiting.signal }, hold).catch(() => {});
    } else {
      open();
    }
    catchUp();
  };
  channel?.addEventListener("message", (event) => {
    if (!document.hidden) take(event.data.kind, event.data.data);
  });

  // --- uploads -------------------------------------------------------------------------------
  // By id, because the page may be drawn again during an upload.
  const problems = {};
  const showProblem = (id, text) => {
    problems[id] = text;
    if (byId(id)) byId(id).textContent = text;
  };
  const showBar = (id, share) => {
    const bar = byId(id);
    if (!bar) return;
    bar.hidden = share === null;
    bar.value = share || 0;
  };
  const upload = (file, most, address, problem, bar) => {
    showProblem(problem, "");
    if (file.size > most) {
      // at once, instead of after sending it
      const size = (bytes) => `${(bytes / 2 ** 20).toLocaleString("en", { maximumFractionDigits: 0 })} MB`;
      showProblem(problem, `${file.name} has ${size(file.size)}; the maximum is ${size(most)}.`);
      return;
    }
    showBar(bar, 0);
    const request = new XMLHttpRequest();
    request.open("POST", address);
    request.setRequestHeader("X-File-Name", encodeURIComponent(file.name));
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.onprogress = (event) => showBar(bar, (100 * event.loaded) / event.total);
    request.onload = () => {
      showBar(bar, null);
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
        showProblem(problem, answer.detail || `The upload failed (${request.status}).`);
      }
    };
    request.onerror = () => {
      showBar(bar, null);
      showProblem(problem, "The upload was interrupted. The file may be too large, or the program has ended.");
    };
    request.send(file);
  };

  const uploadData = (file) =>
    upload(file, Number(byId("file").dataset.most), "/data/upload", "upload-problem", "upload-bar");

  document.addEventListener("change", (event) => {
    const field = event.target;
    if (field.id === "file" && field.files.length) {
      uploadData(field.files[0]);
    } else if (field.dataset.upload && field.files.length) {
      upload(field.files[0], Number(field.dataset.most), field.dataset.upload, field.dataset.problem, "");
    } else if (field.name === "kind") {
      showColumns();
    } else if (field.id === "point-range") {
      sendPoint();
    }
  });
  for (const [name, dropping] of [["dragover", true], ["dragleave", false], ["drop", false]]) {
    document.addEventListener(name, (event) => {
      const place = byId("drop");
      if (!place) return;
      event.preventDefault();
      place.classList.toggle("dropping", dropping);
      if (name === "drop" && event.dataTransfer.files.length) {
        uploadData(event.dataTransfer.files[0]);
      }
    });
  }

  // --- lists on demand -----------------------------------------------------------------------
  const asked = {}; // the last request for each place
  const fill = async (address, id) => {
    const number = (asked[id] = (asked[id] || 0) + 1);
    const answer = await fetch(address);
    const text = await answer.text();
    // an earlier request may be answered later, and the page may have been drawn again
    if (!answer.ok || number !== asked[id] || !byId(id)) return;
    // made by the server from a template that escapes every name
    const part = new DOMParser().parseFromString(text, "text/html");
    byId(id).replaceChildren(...part.body.childNodes);
  };

  // The setting of the slider; one request at a time, the last one wins.
  const sendPoint = async () => {
    sent += 1;
    if (sending) return;
    sending = 1;
    let told = 0;
    try {
      while (told !== sent && byId("point-form")) {
        told = sent;
        const form = byId("point-form");
        await fetch(form.action, {
          method: "POST",
          headers: { "Content-Type": "application/x-www-form-urlencoded" },
          body: new URLSearchParams({ point: form.elements.point.value }),
        });
      }
    } catch {
      // the server ended
    }
    sending = 0;
    goOn();
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
    }
    if (event.target.closest("#news button")) redraw(true);
  });

  // A block, or a node of one, was chosen in the interactive drawing.
  document.addEventListener("coterie:block", (event) => byId("members") && fill(`/explore/block/${event.detail}`, "members"));

  let pause = 0;
  document.addEventListener("input", (event) => {
    const field = event.target;
    if (field.dataset.search) {
      clearTimeout(pause);
      pause = setTimeout(() => fill(`${field.dataset.search}?q=${encodeURIComponent(field.value)}`, field.dataset.into), 150);
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
    document.dispatchEvent(new Event("coterie:drawn")); // network.js
    for (const [id, text] of Object.entries(problems)) if (byId(id)) byId(id).textContent = text;
    catchUp();
  };

  if (document.body.dataset.step) {
    prepare();
    listen();
    document.addEventListener("visibilitychange", () => (document.hidden ? leave?.() : listen()));
    addEventListener("pagehide", () => leave?.());
    addEventListener("pageshow", (event) => { // back to a kept page
      listen();
      if (event.persisted) catchUp();
    });
  }
})();
