// Sends the requests of the page at / and shows the answers.
for (const form of document.querySelectorAll("form.try")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const name = form.dataset.path.slice(1);
    const place = document.getElementById(`${name}-answer`), body = document.getElementById(`${name}-body`);
    const headers = {}, token = document.getElementById("token")?.value;
    if (token) headers.authorization = `Bearer ${token}`;
    if (body) headers["content-type"] = "application/json";
    place.hidden = false;
    try {
      const answer = await fetch(form.dataset.path, { method: form.dataset.method, headers, body: body?.value });
      const text = await answer.text();
      let shown = text;
      try {
        shown = JSON.stringify(JSON.parse(text), null, 2);
      } catch {
        // not JSON: shown as it is
      }
      place.textContent = `${answer.status} ${answer.statusText}\n${shown}`;
    } catch {
      place.textContent = "The server did not answer.";
    }
  });
}
