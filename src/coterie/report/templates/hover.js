// Tooltips: every mark contains a <title>, which browsers show without this script. The script
// shows it at once, in a box that follows the pointer (or the finger), in the font of the page.
(() => {
  const tip = document.getElementById("tip");
  const take = (hit) => {
    const title = hit.querySelector(":scope > title");
    if (title) {
      hit.dataset.tip = title.textContent;
      title.remove(); // otherwise the browser shows its own tooltip as well
    }
    return hit.dataset.tip;
  };
  let lit = null;
  const leave = () => {
    if (lit) lit.classList.remove("on");
    lit = null;
    tip.hidden = true;
  };
  const show = (event) => {
    const hit = event.target.closest ? event.target.closest(".chart .hit") : null;
    if (hit !== lit) leave();
    if (!hit) return;
    lit = hit;
    hit.classList.add("on");
    tip.textContent = take(hit);
    tip.hidden = false;
    const room = document.documentElement.clientWidth;
    const box = tip.getBoundingClientRect();
    const x = Math.min(event.clientX + 14, room - box.width - 6);
    const above = event.clientY - box.height - 12;
    tip.style.left = Math.max(6, x) + window.scrollX + "px";
    tip.style.top = (above > 6 ? above : event.clientY + 18) + window.scrollY + "px";
  };
  document.addEventListener("pointermove", show);
  document.addEventListener("pointerdown", show);
  document.addEventListener("pointerleave", leave);
  document.addEventListener("keydown", (event) => event.key === "Escape" && leave());
})();
