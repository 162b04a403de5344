"""nginx serves files that nobody has read yet."""

import random

from iowhy.lab import shell
from iowhy.lab.scenario import FINE, Plan, Scenario, Variant
from iowhy.lab.scenarios._work import make_file
from iowhy.lab.stage import Stage

_CONF = """
user root;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ }}
http {{
  access_log off;
  sendfile on;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{ listen unix:{folder}/nginx; root {root}; }}
}}
"""
_SERVED = (
    '"$0" -c "$1/nginx.conf" -e "$1/error.log" && curl -s --unix-socket "$1/nginx" -K "$1/urls"; '
    '"$0" -c "$1/nginx.conf" -e "$1/error.log" -s quit'
)


def _serve(stage: Stage, *, cold: bool) -> Plan:
    root = stage.scratch_filesystem(1024).path / "files"
    root.mkdir()
    names = [f"{number:04}" for number in range(stage.choice.count(200))]
    for name in names:
        make_file(root / name, 64 << 10, stage.choice.seed)
    random.Random(stage.choice.seed).shuffle(names)
    folder = stage.folder / "nginx"
    folder.mkdir()
    (folder / "nginx.conf").write_text(_CONF.format(folder=folder, root=root))
    (folder / "urls").write_text(
        "".join(f'url = "http://localhost/{name}"\noutput = "/dev/null"\n' for name in names)
    )
    return Plan(("sh", "-c", _SERVED, shell.found("nginx") or "nginx", str(folder)), cold=cold)


SCENARIO = Scenario(
    name="nginx-cold",
    title="nginx serves small files in random order, cold",
    variants=(
        Variant(
            "cold",
            "nothing cached",
            lambda s: _serve(s, cold=True),
            ("random-access", "cache-cold"),
        ),
        Variant("warm", "all cached", lambda s: _serve(s, cold=False), FINE),
    ),
    devices=("hdd",),
    remedy=(
        "shared.warm-cache",
        "shared.warm-cache-any",
    ),
    tools=("nginx", "curl"),
)
