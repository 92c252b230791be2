"""Tokens: whose a token is, and files of them that are refused without showing a value."""

from hashlib import sha256
from pathlib import Path

import pytest

from lightrag_dagster.errors import SettingsError
from lightrag_dagster.serving import Tokens, tokens_of

HASH = sha256(b"secret").hexdigest()
ENTRY = f"- {{name: keeper, sha256: {HASH}"
FILE = f"tokens:\n{ENTRY}, scope: board, requests_a_minute: 5, dollars_a_day: 0.5}}\n"


@pytest.mark.parametrize("text", [FILE, FILE.replace(HASH, HASH.upper())])
def test_a_token_has_an_owner(text: str) -> None:
    caller = Tokens(text, "file").caller("secret")
    assert caller is not None
    told = (caller.name, caller.scope, caller.requests_a_minute, caller.dollars_a_day)
    assert told == ("keeper", "board", 5, 0.5)


def test_a_token_may_have_any_letters() -> None:
    text = FILE.replace(HASH, sha256("sécret-ключ".encode()).hexdigest())
    assert Tokens(text, "file").caller("sécret-ключ".encode().decode("latin-1")), "as servers read headers"


@pytest.mark.parametrize("token", ["", "Secret", "secret ", HASH, "sécret"])
def test_anything_else_has_none(token: str) -> None:
    assert Tokens(FILE, "file").caller(token) is None


def test_an_empty_token_has_none_though_a_file_has_its_hash() -> None:
    assert Tokens(FILE.replace(HASH, sha256(b"").hexdigest()), "file").caller("") is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "file: tokens: Field required"),
        ("tokens: []", "file, line 1: tokens: List should"),
        ("tokens: [", "file: it is not YAML"),
        ("tokens:\n- {name: keeper, token: hush}", "file, line 2: tokens.0.sha256: Field required"),
        ("tokens:\n- {name: keeper, sha256: hush}", "file, line 2: tokens.0.sha256: String should"),
        (
            f"tokens:\n{ENTRY}, scope: }}\n",
            "file, line 2: tokens.0.scope: it has no value",
        ),
        (f"tokens:\n{ENTRY}, scope: ''}}\n", "file, line 2: tokens.0.scope: String should match pattern"),
        ("tokens: [2026-99-99]", "file: it is not YAML: line 1, column 10: this cannot be read as"),
        (f"{FILE}{FILE}", "file: it is not YAML: line 3, column 1: 'tokens' is written twice"),
        (f"tokens:\n{ENTRY}, scope: a, scope: b}}", "file: it is not YAML: line 2, column "),
        (
            f"tokens:\n{ENTRY}, scopes: hush}}",
            "file, line 2: tokens.0.scopes does not exist; did you mean tokens.0.scope",
        ),
        (f"tokens:\n{ENTRY}, dollars_a_day: -1}}", "file, line 2: tokens.0.dollars_a_day: Input should"),
        (f"tokens:\n{ENTRY}, dollars_a_day: }}", "file, line 2: tokens.0.dollars_a_day: it has no value"),
        (f"tokens:\n{ENTRY}, requests_a_minute: }}", "file, line 2: tokens.0.requests_a_minute: it has no value"),
        (f"tokens:\n{ENTRY}}}\n{ENTRY}}}", "file: two tokens have the same name"),
        (f"tokens:\n{ENTRY}}}\n- {{name: b, sha256: {HASH.upper()}}}", "file: two tokens have the same sha256"),
    ],
)
def test_a_file_that_cannot_be_used_says_where(text: str, said: str) -> None:
    with pytest.raises(SettingsError) as raised:
        Tokens(text, "file")
    assert str(raised.value).startswith(said)
    assert "hush" not in str(raised.value)


def test_tokens_come_from_a_file_or_else_a_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tokens_of(None) is None
    monkeypatch.setenv("SERVE_TOKENS", "")  # of a secret that is not there: else anyone could ask
    with pytest.raises(SettingsError, match="SERVE_TOKENS: tokens: Field required"):
        tokens_of(None)
    monkeypatch.setenv("SERVE_TOKENS", FILE)
    from_variable, file = tokens_of(None), tmp_path / "tokens.yaml"
    assert from_variable is not None
    assert from_variable.caller("secret")
    file.write_text(FILE.replace("keeper", "other"))
    from_file = tokens_of(file)
    assert from_file is not None
    assert [one.name for one in from_file.callers.values()] == ["other"]
    with pytest.raises(SettingsError, match="cannot be read"):
        tokens_of(tmp_path / "none.yaml")
