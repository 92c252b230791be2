from dataclasses import dataclass


@dataclass
class Kingfisher:
    station: str
    level: float
