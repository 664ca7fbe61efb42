"""Debian's nginx as a proxy in front of the daemon, as its users have it: keep-alive upstream, the
client's Host handed on."""

import os
import subprocess

from daemon import DEADLINE_S, ROOT, Log

NGINX = os.path.join(ROOT, "build-nginx/usr/sbin/nginx")

# On a Unix socket: no port to be found free. $request_uri goes on as it came.
CONFIG = """
daemon off;
master_process off;
pid {folder}/pid;
error_log stderr info;
events {{ worker_connections 256; }}
http {{
    client_header_timeout 5s;
    client_body_timeout 5s;
    access_log {folder}/access.log;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    upstream idmintd {{
        server {upstream};
        keepalive 8;
    }}
    server {{
        listen unix:{folder}/socket;
        proxy_http_version 1.1;
        proxy_set_header Connection "";
        proxy_set_header Host $http_host;
        proxy_request_buffering {buffering};
        proxy_buffering off;
        proxy_next_upstream off;
        location / {{ proxy_pass http://idmintd; }}
        location ~ smuggled {{ return 403; }}
    }}
}}
"""


class Nginx:
    """What it forbids, and nothing else, is the path of a counter named smuggled."""

    def __init__(self, folder, upstream, buffering):
        self.folder = str(folder)
        config = os.path.join(self.folder, "nginx.conf")
        with open(config, "w") as file:
            values = {"folder": self.folder, "upstream": upstream}
            file.write(CONFIG.format(buffering="on" if buffering else "off", **values))
        self.process = subprocess.Popen(
            [NGINX, "-p", self.folder, "-c", config],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        self.log = Log(self.process.stderr)
        self.log.wait("start worker|using the \"epoll\" event method")

    @property
    def address(self):
        return f"unix:{self.folder}/socket"

    def stop(self):
        self.process.terminate()
        assert self.process.wait(DEADLINE_S) == 0
        self.log.thread.join(DEADLINE_S)
