"""Passwords, keys and tokens are in no message, no log, no file of a run, and no answer of a server."""

from __future__ import annotations

import logging
from pathlib import Path

import httpx
import pytest

from seal_ir.errors import ModelError, SealError, redacted
from seal_ir.formats.io import hub_access
from seal_ir.formats.io.downloads import Download, InputError, fetch
from seal_ir.models.__main__ import main as models
from seal_ir.search.__main__ import main as search
from seal_ir.server import serving as served_by
from seal_ir.text.pretrained import ModelFiles, reachable_source
from tests.helpers import serving
from tests.helpers.commands import Runner
from tests.helpers.serving import KEY
from tests.helpers.stubbed import Stubbed

SECRET = "s3cr3t/pa@ss+word"  # noqa: S105 - of tests
SHA256 = "0" * 64


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"https://me:{SECRET.replace('/', '')}@host/x: no", "https://...@host/x: no"),
        ("ftp://token@host:21, then http://a:b@c", "ftp://...@host:21, then http://...@c"),
        ("GET /x?query=a&api_key=abc&hits=3", "GET /x?query=a&api_key=...&hits=3"),
        (
            "(https://s3/x?X-Amz-Credential=a%2Fb&X-Amz-Signature=0f)",
            "(https://s3/x?X-Amz-Credential=...&X-Amz-Signature=...)",
        ),
        ("https://blob/x?sp=r&sig=0f%3D", "https://blob/x?sp=r&sig=..."),
        ("header b'Bearer abcdefgh' is illegal", "header b'Bearer ...' is illegal"),
        ("{'Authorization': 'Basic dXNlcjpwdw=='}", "{'Authorization': 'Basic ...'}"),
        ("X-API-Key: abcdefgh1", "X-API-Key: ..."),
        ("no access with hf_abcdEFGH1234", "no access with hf_..."),
    ],
)
def test_what_opens_something_is_left_out(text: str, told: str) -> None:
    assert redacted(text) == told
    for kind in (SealError, *SealError.__subclasses__()):
        assert str(kind(text)) == told
        assert str(kind(text).__reduce__()[0](text)) == told


@pytest.mark.parametrize(
    "text",
    [
        "no topic 'what does me@home mean?'",
        "https://host/a@b?query=key&keys=3",
        "the server asks for a key; send it as X-API-Key: KEY, or Authorization: Bearer KEY",
        "basic documentation of the authorization of hf_hub",
        "runs/a.trec:3: 5 columns",
    ],
)
def test_the_rest_stays(text: str) -> None:
    assert redacted(text) == text


def test_a_registered_address_holds_no_password() -> None:
    with pytest.raises(InputError, match=r"https://\.\.\.@host/x'?: an address holds no user name"):
        Download("https://me:s3cr3t@host/x", SHA256, 5)


def test_a_signed_address_that_does_not_answer(tmp_path: Path) -> None:
    download = Download("http://127.0.0.1:9/x?sig=s3cr3t", SHA256, 5)
    with pytest.raises(InputError, match=r"http://127\.0\.0\.1:9/x\?sig=\.\.\. no answer"):
        fetch(download, tmp_path / "x", lambda n_bytes: None)


def test_a_hub_with_a_password_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", "http://me:s3cr3t@127.0.0.1:9")
    monkeypatch.setattr(hub_access, "_status", lambda session, endpoint: f"no route to {endpoint}")
    with pytest.raises(ModelError, match="http://...@127.0.0.1:9 does not answer") as error:
        reachable_source(ModelFiles("some/model", "some/model"))
    assert "s3cr3t" not in str(error.value)


def test_a_package_index_with_a_password(
    monkeypatch: pytest.MonkeyPatch, call: Runner, tmp_path: Path
) -> None:
    monkeypatch.setenv("SEAL_IR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_NO_INDEX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_INDEX_URL", "http://me:s3cr3t@127.0.0.1:9/simple")
    monkeypatch.setattr("seal_ir.models.weights._RETRIES", 0)
    result = call(models, "fetch")
    assert result.code == 1
    assert "cannot be downloaded" in result.err
    assert "s3cr3t" not in result.err


def test_no_file_of_a_run_holds_what_the_environment_keeps_secret(
    tiny_index: Path, tmp_path: Path, call: Runner, stubbed: Stubbed, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SEAL_IR_API_KEY", "HF_TOKEN", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, SECRET)
    topics = tmp_path / "topics.tsv"
    topics.write_text("1\tthe capital of France\n", encoding="utf-8")
    made = tmp_path / "made"
    made.mkdir()
    result = call(search, "--topics", topics, "--index", tiny_index, "--output", made / "run.trec")
    assert result.code == 0, result.err
    assert SECRET not in result.out + result.err
    files = [path for path in made.iterdir() if path.is_file()]
    assert {path.name for path in files} >= {"run.trec", "run.trec.config.json"}
    assert not [path.name for path in files if SECRET in path.read_text(encoding="utf-8")]


@pytest.mark.slow
def test_nothing_that_a_server_answers_or_logs_holds_its_key(
    tiny_index: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    headers = {"X-API-Key": KEY}
    with (
        served_by._logged(requests=True),
        serving.running(serving.served(tiny_index), key=KEY, writable=True) as url,
    ):
        answers = [
            httpx.request(method, f"{url}{path}", headers=sent)
            for sent in (headers, {}, {"Authorization": f"Bearer {KEY}x"})
            for method, path in (
                ("GET", "/metrics"),
                ("GET", "/openapi.json"),
                ("GET", "/"),
                ("GET", "/v1/indexes"),
                ("GET", "/v1/tiny/search?query=a"),
                ("GET", "/v1/none/search?query=a"),
                ("POST", "/v1/tiny/docs"),
            )
        ]
    assert {answer.status_code for answer in answers} > {200, 401, 404}
    assert not [answer.url for answer in answers if KEY in f"{answer.text}{answer.headers}"]
    assert KEY not in caplog.text
    captured = capfd.readouterr()
    assert KEY not in captured.out + captured.err
    assert KEY not in repr(served_by.HttpOptions(key=KEY))


def test_a_key_that_a_client_puts_into_an_address_is_not_logged(capsys: pytest.CaptureFixture[str]) -> None:
    with served_by._logged(requests=True):
        words = ("127.0.0.1:5", "GET", "/v1/demo/search?query=who+am+i&api_key=s3cr3t", "1.1", 200)
        logging.getLogger("uvicorn.access").info('%s - "%s %s HTTP/%s" %d', *words)
    told = capsys.readouterr().err
    assert "query=who+am+i&api_key=... HTTP/1.1" in told
    assert "s3cr3t" not in told
