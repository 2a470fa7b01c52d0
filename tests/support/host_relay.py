"""The process of a headless host that `shared_chromium` plays: hands on its words, and ends with it."""

import os
import select
import socket
import sys


def main(path: str) -> None:
    """Until the host has ended; it is told of the end of stdin, as of this process's."""
    with socket.socket(socket.AF_UNIX) as host:
        host.connect(path)
        heard = [host.fileno(), sys.stdin.fileno()]
        while True:
            for descriptor in select.select(heard, [], [])[0]:
                said = os.read(descriptor, 1 << 16)
                if descriptor != host.fileno() and said:
                    host.sendall(said)
                elif descriptor != host.fileno():
                    heard.remove(descriptor)
                    host.shutdown(socket.SHUT_WR)
                elif said:
                    os.write(sys.stdout.fileno(), said)
                else:
                    return


if __name__ == "__main__":
    main(sys.argv[1])
