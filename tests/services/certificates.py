"""Certificates that are made by openssl: an authority's, and those that it gives to a server and a client."""

from __future__ import annotations

import subprocess
from pathlib import Path


class Certificates:
    """Files in a folder: NAME.crt and NAME.key, and NAME.pem with both."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.authority = folder / "authority.crt"
        """By what certificates are believed."""
        self._make("authority")
        self._give("server", "subjectAltName=IP:127.0.0.1,DNS:localhost")
        self._give("client", "extendedKeyUsage=clientAuth")
        self._make("stranger")
        """Another authority, which nobody believes."""

    def certificate(self, name: str) -> Path:
        """The certificate of somebody."""
        return self._folder / f"{name}.crt"

    def key(self, name: str) -> Path:
        """The key of somebody."""
        return self._folder / f"{name}.key"

    def _make(self, name: str) -> None:
        """A certificate that somebody has given to himself."""
        self._openssl(
            *("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}"),
            *("-keyout", f"{name}.key", "-out", f"{name}.crt"),
        )

    def _give(self, name: str, extension: str) -> None:
        """A certificate of the authority."""
        (self._folder / f"{name}.ext").write_text(extension)
        request = ("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-keyout", f"{name}.key")
        self._openssl(*request, "-out", f"{name}.csr")
        self._openssl(
            *(
                "x509",
                "-req",
                "-in",
                f"{name}.csr",
                "-CA",
                "authority.crt",
                "-CAkey",
                "authority.key",
                "-CAcreateserial",
            ),
            *("-days", "2", "-extfile", f"{name}.ext", "-out", f"{name}.crt"),
        )
        both = self.key(name).read_text() + self.certificate(name).read_text()
        (self._folder / f"{name}.pem").write_text(both)

    def _openssl(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=self._folder, check=True, capture_output=True)
