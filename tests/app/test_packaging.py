"""The examples in packaging/ do what they say: nginx, systemd, Kubernetes and the image."""

from __future__ import annotations

import re
import shlex
import shutil
import socket
import ssl
import subprocess
from pathlib import Path

import httpx
import pytest
import yaml

from coterie.app.api.routes import ROUTES
from coterie.cli.options import option_name
from coterie.cli.serve import run

ROOT = Path(__file__).parents[2]
PACKAGING = ROOT / "packaging"


def _known_options() -> set[str]:
    names = {option_name(name) for name in run.__wrapped__.__annotations__}
    return names | {"--json", "--quiet", "--threads"}


def _options(words: list[str]) -> list[str]:
    return [word.partition("=")[0] for word in words if word.startswith("--")]


def test_the_unit_of_systemd_is_valid_and_starts_the_server(tmp_path):
    text = (PACKAGING / "systemd/coterie-serve.service").read_text()
    command = shlex.split(re.search(r"^ExecStart=(.*)$", text, re.MULTILINE)[1])
    assert command[1] == "serve" and set(_options(command)) <= _known_options()
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze")
    unit = tmp_path / "coterie-serve.service"
    unit.write_text(text.replace(command[0], "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True)
    said = [line for line in done.stderr.splitlines() if unit.name in line]
    assert done.returncode == 0 and not said, done.stderr


def test_kubernetes_starts_the_server_and_asks_its_routes():
    texts = (PACKAGING / "kubernetes/coterie-serve.yaml").read_text()
    deployment, service, claim = yaml.safe_load_all(texts)
    pod = deployment["spec"]["template"]["spec"]
    container = pod["containers"][0]
    assert container["args"][0] == "serve"
    assert set(_options(container["args"])) <= _known_options()
    paths = {route.path for route in ROUTES if route.is_open}
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        assert container[probe]["httpGet"]["path"] in paths
    assert container["livenessProbe"]["httpGet"]["path"] == "/livez"
    assert pod["securityContext"]["runAsNonRoot"]
    assert service["spec"]["selector"] == deployment["spec"]["selector"]["matchLabels"]
    claims = [one.get("persistentVolumeClaim", {}).get("claimName") for one in pod["volumes"]]
    assert claim["metadata"]["name"] in claims
    mounted = {one["name"] for one in container["volumeMounts"]}
    assert mounted == {one["name"] for one in pod["volumes"]}


def test_the_image_can_serve_as_another_user_than_root():
    text = (ROOT / "Dockerfile").read_text()
    extras = re.search(r"\.whl\)\[([a-z,]+)\]", text)[1].split(",")
    assert "app" in extras
    assert re.search(r"^EXPOSE 8000$", text, re.MULTILINE)
    assert re.search(r"^USER (?!0|root)\S+$", text, re.MULTILINE)
    assert "/livez" in re.search(r"^HEALTHCHECK .*\n.*", text, re.MULTILINE)[0]


def test_nginx_passes_requests_on(start, model_files, tmp_path):
    nginx, openssl = shutil.which("nginx"), shutil.which("openssl")
    if nginx is None or openssl is None:
        pytest.skip("no nginx or no openssl: apt-get install nginx-light openssl")
    running = start("serve", str(model_files["mmsbm"]), "--port", "0", "--allow-host",
                    "films.example", COTERIE_TOKEN="0123456789abcdef")  # fmt: skip
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=films.example",
         "-addext", "subjectAltName=DNS:films.example", "-days", "2",
         "-keyout", tmp_path / "key", "-out", tmp_path / "certificate"],
        check=True, capture_output=True,
    )  # fmt: skip
    ours = (PACKAGING / "nginx/coterie.conf").read_text()
    for old, new in (
        ("127.0.0.1:8000", running.address.removeprefix("http://")),
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("/etc/ssl/films.example.pem", str(tmp_path / "certificate")),
        ("/etc/ssl/films.example.key", str(tmp_path / "key")),
        ("allow 127.0.0.1;", ""),
    ):
        assert old in ours
        ours = ours.replace(old, new)
    (tmp_path / "site.conf").write_text(ours)
    paths = "".join(
        f"{name}_temp_path {tmp_path}/{name};\n"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (tmp_path / "nginx.conf").write_text(
        f"daemon off; pid {tmp_path}/pid; error_log stderr;\nevents {{}}\n"
        f"http {{ access_log off; {paths} include {tmp_path}/site.conf; }}\n"
    )
    server = subprocess.Popen(
        [nginx, "-p", tmp_path, "-c", tmp_path / "nginx.conf"], stderr=subprocess.PIPE, text=True
    )
    try:
        trusted = ssl.create_default_context(cafile=str(tmp_path / "certificate"))
        transport = httpx.HTTPTransport(verify=trusted, retries=5)
        token = {"authorization": "Bearer 0123456789abcdef", "host": "films.example"}
        with httpx.Client(
            transport=transport, base_url=f"https://127.0.0.1:{port}", headers=token, timeout=60
        ) as client:
            named = {"extensions": {"sni_hostname": "films.example"}}
            answer = client.post("/recommend", json={"user": "u1", "n": 2}, **named)
            assert answer.status_code == 200 and len(answer.json()["items"]) == 2
            assert re.fullmatch("[0-9a-f]{32}", answer.headers["x-request-id"])
            assert client.get("/readyz", **named).status_code == 200
            assert client.get("/metrics", **named).status_code == 403
            client.headers["authorization"] = "Bearer wrong"
            assert client.post("/recommend", json={"user": "u1"}, **named).status_code == 401
    finally:
        server.terminate()
        server.wait(timeout=30)
