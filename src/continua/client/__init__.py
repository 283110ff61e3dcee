"""A server as a session: ``continua.connect(url)`` has the session's names, and asks by HTTP."""

from continua.client.remote import RemoteError, RemoteQuery, RemoteSession, connect

__all__ = ["RemoteError", "RemoteQuery", "RemoteSession", "connect"]
