"""Small texts of our own that the tests of the offline provider share."""

HANDBOOK = """\
# Working at Saltmarsh Robotics

Saltmarsh Robotics builds survey boats. It was founded in 2014 by **Ingrid Solheim** in Bergen.

## Vacation policy

The vacation policy gives every employee 28 days. However, Monday's requests wait. Ask Fatima Haddad, our office
manager, or the [People Team](https://example.org/people) if anything is unclear. It is in the `leave-register`.

| Name | Office |
|---|---|
| Oskar Lindgren | Rotterdam |

## Lessons

- [x] Restarting Envoy at 10:55 fixed it. We raised the limit to 2000 connections.
"""

NOTES = """\
Brack Fen

Nadia counted three Great Crested Grebes near the reed bed on 12 June 2023. Dr. Ikeda took samples from Mill Creek.
She said: "You will see them again in autumn." The University of Calder keeps the samples. Nadia Okafor wrote this.
"""

GERMAN = """\
# Handbuch Datenplattform

Die Datenplattform verarbeitet die Messwerte aller Stationen und wird von Karlsruhe aus betrieben. Für den Betrieb ist
das Team Hydrologie verantwortlich. Thomas Brandl leitete am 3. Mai 2024 die Übung, und die Störung ist behoben.
"""
