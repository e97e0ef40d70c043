// Browsers start no Worker from a page on disk (file://), and the search of Material for MkDocs runs
// in one. This runs it in a hidden frame instead. On a web server the browser's own Worker is used.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.appendChild(this.frame);
      const inside = this.frame.contentWindow;
      this.listener = (event) => {
        if (event.source !== inside) return;
        const copy = new MessageEvent("message", { data: event.data });
        this.dispatchEvent(copy);
        if (this.onmessage) this.onmessage(copy);
      };
      window.addEventListener("message", this.listener);
      inside.document.open();
      inside.document.write(
        "<!DOCTYPE html><script>" +
        "postMessage = (data) => parent.postMessage(data, '*');" +
        "importScripts = (...urls) => { for (const url of urls) {" +
        " const script = document.createElement('script'); script.src = url;" +
        " script.async = false; document.body.appendChild(script); } };" +
        "<\/script><script src=\"" + url + "\"><\/script>"
      );
      inside.document.close();
      this.ready = new Promise((resolve) => { inside.onload = resolve; });
    }
    postMessage(data) {
      this.ready.then(() => {
        this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
      });
    }
    terminate() {
      window.removeEventListener("message", this.listener);
      this.frame.remove();
    }
  };
}
