"""What has happened in all stories."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Summary:
    """What happened so far."""

    crashes: Counter[str] = field(default_factory=Counter)
    stories: int = 0
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        kinds = ", ".join(f"{count} {name}" for name, count in self.crashes.most_common())
        return f"{self.crashes.total()} crashes in {self.stories} stories ({kinds}): {len(self.wrong)} wrong"
