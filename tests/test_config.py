"""Configurations: from YAML, with every fault at once."""

import math
from dataclasses import dataclass, fields
from typing import Literal, get_type_hints

import pytest
import yaml

from nsed.config import Config, bounded, field_help, from_mapping, merged, parse_overrides, read_yaml, to_yaml
from nsed.errors import ConfigError
from nsed.models.edit_distance import EditDistanceConfig
from nsed.models.odds_training import OddsConfig
from nsed.models.persistence import MODEL_KINDS, model_class
from nsed.models.transducer import TransducerConfig


@dataclass(frozen=True)
class Small(Config):
    """For the tests."""

    steps: int = bounded(3, low=1)
    """How many
    steps."""
    rate: float = bounded(0.1, low=0, high=1)
    """How fast."""
    mode: Literal["up", "down"] = "up"
    name: str = "x"
    quick: bool = False


def test_five_faults_are_all_reported():
    values = {"steps": "many", "rate": 2, "mode": "sideways", "nme": "y", "quick": 1}
    with pytest.raises(ConfigError) as caught:
        from_mapping(Small, values, where="my.yaml")
    assert str(caught.value).splitlines() == [
        "my.yaml: 5 faults",
        "  - nme: no such key; did you mean 'name'?",
        "  - steps: got 'many', expected a whole number",
        "  - rate: got 2, expected at least 0 and below 1",
        "  - mode: got 'sideways', expected one of up, down",
        "  - quick: got 1, expected true or false",
    ]


def test_whole_numbers_do_for_numbers_but_not_the_other_way_round():
    assert from_mapping(Small, {"rate": 0}).rate == 0.0
    with pytest.raises(ConfigError, match=r"steps: got 1\.5, expected a whole number"):
        from_mapping(Small, {"steps": 1.5})
    with pytest.raises(ConfigError, match="steps: got True, expected a whole number"):
        from_mapping(Small, {"steps": True})
    with pytest.raises(ConfigError, match="steps: got 0, expected at least 1"):
        from_mapping(Small, {"steps": 0})


def test_yaml_and_overrides(tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text("steps: 5\nrate: 1.0e-3\n")
    assert from_mapping(Small, read_yaml(path) | parse_overrides(["steps=7"])) == Small(steps=7, rate=1e-3)
    path.write_text("")
    assert from_mapping(Small, read_yaml(path)) == Small()


@pytest.mark.parametrize(
    ("content", "message"), [("- a\n", "expected lines `key: value`"), ("a: [", "not readable as YAML")]
)
def test_files_that_are_no_config(tmp_path, content, message):
    path = tmp_path / "c.yaml"
    path.write_text(content)
    with pytest.raises(ConfigError, match=message):
        read_yaml(path)


def test_missing_file(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        read_yaml(tmp_path / "none.yaml")


def test_override_without_equals_sign():
    with pytest.raises(ConfigError, match="--set: 1 fault\n  - 'steps': expected key=value"):
        parse_overrides(["steps"])


def test_printed_yaml_reads_back_and_carries_the_help(tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text(to_yaml(EditDistanceConfig(iterations=7)))
    assert from_mapping(EditDistanceConfig, read_yaml(path)) == EditDistanceConfig(iterations=7)
    assert "# How many steps.\nsteps: 3\n" in to_yaml(Small())


@pytest.mark.parametrize("value", [math.nan, -1, 1, math.inf])
def test_numbers_out_of_bounds_are_refused_in_python_too(value):
    with pytest.raises(ConfigError, match=r"Small: 1 fault\n  - rate: got .*, expected at least 0 and below 1"):
        Small(rate=value)


def test_keys_and_values_that_are_no_yaml():
    with pytest.raises(ConfigError, match="5: no such key"):
        from_mapping(Small, {5: 3})
    with pytest.raises(ConfigError, match=r"steps: got '\[1', expected a whole number"):
        from_mapping(Small, parse_overrides(["steps=[1"]))


@dataclass(frozen=True)
class Outer(Config):
    """With another inside."""

    inner: Small = Small()
    """The inner one."""
    size: int = 1


def test_configurations_inside_configurations():
    values = merged({"inner": {"steps": 5}}, parse_overrides(["inner.rate=0.5", "size=2"]))
    assert from_mapping(Outer, values) == Outer(Small(steps=5, rate=0.5), size=2)
    assert from_mapping(Outer, yaml.safe_load(to_yaml(Outer(Small(steps=9))))) == Outer(Small(steps=9))
    with pytest.raises(
        ConfigError, match=r"2 faults\n  - inner\.stps: no such key; did you mean 'steps'\?\n  - inner\.rate: got 7"
    ):
        from_mapping(Outer, {"inner": {"stps": 1, "rate": 7}})
    with pytest.raises(ConfigError, match="inner: got 3, expected settings"):
        from_mapping(Outer, {"inner": 3})


def test_every_setting_of_a_model_has_a_help_text():
    assert set(field_help(EditDistanceConfig)) == set(EditDistanceConfig.__dataclass_fields__)


def test_five_faults_in_three_places_are_all_reported():
    values = {"x": 1, "beam": 0, "encoder": {"kind": "foo", "dim": -1}, "train": {"steps": "many"}}
    with pytest.raises(ConfigError) as raised:
        from_mapping(TransducerConfig, values)
    assert len(raised.value.faults) == 5
    assert "encoder.kind: got 'foo', expected one of cnn, rnn, transformer, unigram" in raised.value.faults


LAUGHS = "\n".join(["a0: &a0 [ha]", *(f"a{n + 1}: &a{n + 1} [{', '.join([f'*a{n}'] * 9)}]" for n in range(9))])
BRACKETS = "[" * 5000


@pytest.mark.parametrize("value", ["2001-13-45", BRACKETS, "{a: " * 5000, "0x" + "f" * 5000, "9" * 5000, "1e999"])
def test_an_override_that_is_no_date_no_end_of_brackets_or_no_number_is_a_fault(value):
    with pytest.raises(ConfigError, match=r"beam: got .*, expected a") as raised:
        from_mapping(TransducerConfig, parse_overrides([f"beam={value}"]))
    assert len(str(raised.value)) < 300


@pytest.mark.parametrize("text", ["beam=&a [*a]", f"beam={{{LAUGHS.replace(chr(10), ', ')}}}", "a." * 5000 + "b=1"])
def test_an_override_that_contains_itself_or_has_no_end_is_a_fault(text):
    with pytest.raises(ConfigError, match="--set: 1 fault"):
        parse_overrides([text])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: &a\n  b: *a", "got more, expected at most 10,000 values, 20 inside one another, none inside itself"),
        (LAUGHS, "got more, expected at most 10,000 values"),
        ("a: " + BRACKETS, "not readable as YAML"),
        ("beam: 2001-13-45", "not readable as YAML: month must be in"),
        ("beam: " + "9" * 5000, "not readable as YAML"),
        ("# " + "x" * 300_000, "got a longer file, expected at most 262,144 characters"),
    ],
    ids=["recursive", "laughs", "brackets", "date", "digits", "long"],
)
def test_yaml_that_contains_itself_or_has_no_end_is_a_fault(tmp_path, text, message):
    (tmp_path / "c.yaml").write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_yaml(tmp_path / "c.yaml")


TAGGED = ['!!int ""', '!!float ""', "!!bool maybe", "!!timestamp now"]


@pytest.mark.parametrize("value", TAGGED)
def test_tags_that_do_not_fit_their_values_are_faults_and_no_crash(tmp_path, value):
    (tmp_path / "c.yaml").write_text(f"beam: {value}\n")
    with pytest.raises(ConfigError, match="not readable as YAML"):
        read_yaml(tmp_path / "c.yaml")
    assert parse_overrides([f"beam={value}"]) == {"beam": value}


MERGES = ["a0: &a0 {k: 1}", *(f"a{n + 1}: &a{n + 1} {{<<: [{', '.join([f'*a{n}'] * 9)}]}}" for n in range(12))]


def test_merges_of_merges_take_neither_time_nor_memory(tmp_path):
    (tmp_path / "c.yaml").write_text("\n".join(MERGES))
    with pytest.raises(ConfigError, match=r"not readable as YAML: merges \(<<\) of more than 10,000 values"):
        read_yaml(tmp_path / "c.yaml")
    (tmp_path / "c.yaml").write_text("inner: &a {steps: 5}\nother: {<<: *a, rate: 0.5}\n")
    assert read_yaml(tmp_path / "c.yaml")["other"] == {"steps": 5, "rate": 0.5}
    text = f"beam={{{', '.join(MERGES)}}}"
    assert parse_overrides([text]) == {"beam": text.removeprefix("beam=")}


def test_thousands_of_faults_are_counted_and_the_first_ones_listed(tmp_path):
    with pytest.raises(ConfigError, match=r"9000 faults\n(  - .*\n){50}  \.\.\. and 8950 more$") as raised:
        from_mapping(Small, dict.fromkeys(range(9000), 1))
    assert len(raised.value.faults) == 9000
    (tmp_path / "c.yaml").write_text(f"a: *{'b' * 9000}")
    with pytest.raises(ConfigError, match="not readable as YAML: found undefined alias") as raised:
        read_yaml(tmp_path / "c.yaml")
    assert len(str(raised.value)) < 1500


def test_keys_that_cannot_be_printed_are_quoted():
    with pytest.raises(ConfigError, match=r"- 'st\\x1b\[31m\\udca1': no such key"):
        from_mapping(Small, parse_overrides(["st\x1b[31m\udca1=1"]))


def test_faults_do_not_repeat_a_hundred_thousand_characters():
    with pytest.raises(ConfigError, match=r"mode: got 'xxx.* \.\.\. \(100,002 characters\), expected one of") as raised:
        from_mapping(Small, {"mode": "x" * 100_000, "y" * 100_000: 1})
    assert len(str(raised.value)) < 500


def numbers_without_bounds(config):
    hints = get_type_hints(config)
    for field in fields(config):
        known = field.metadata
        if isinstance(hints[field.name], type) and issubclass(hints[field.name], Config):
            yield from numbers_without_bounds(hints[field.name])
        elif hints[field.name] in (int, float) and ("low" not in known or known["high"] is known["most"] is None):
            yield f"{config.__name__}.{field.name}"


def test_every_number_of_every_config_has_a_lower_and_an_upper_bound():
    configs = {config for kind in MODEL_KINDS for config in model_class(kind).configs.values()}
    assert [name for config in configs for name in numbers_without_bounds(config)] == []


@pytest.mark.parametrize(
    ("name", "value", "limit"),
    [
        ("encoder.layers", 10**9, "256"),
        ("encoder.dim", 10**6, "16,384"),
        ("beam", 10**6, "1,000"),
        pytest.param("likelihood", 10**400, "1,000,000", id="likelihood"),
    ],
)
def test_numbers_that_no_machine_holds_are_refused_with_the_limit(name, value, limit):
    with pytest.raises(ConfigError, match=rf"{name}: got 10*.*, expected at least \d and at most {limit}$"):
        from_mapping(TransducerConfig, merged({}, {name: value}))


@pytest.mark.parametrize("name", ["epochs", "foo", "lr"])
def test_a_name_like_no_key_gets_all_of_them_and_no_silly_suggestion(name):
    with pytest.raises(ConfigError, match=rf"- {name}: no such key; known: source_symbols") as raised:
        from_mapping(OddsConfig, {name: 3})
    assert "did you mean" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("steps", "train.steps"),
        ("dim", "encoder.dim"),
        ("encoder_dim", "encoder.dim"),
        ("length_penalti", "length_penalty"),
    ],
)
def test_a_name_that_is_a_setting_of_a_part_gets_its_whole_name(name, meant):
    with pytest.raises(ConfigError, match=rf"- {name}: no such key; did you mean '{meant}'\?"):
        from_mapping(TransducerConfig, {name: 3})


@pytest.mark.parametrize("note", ["a\x85b", "\x85", "ž # : ť\x85\u2028", "'\x85' \"b\""])
def test_a_note_with_a_line_break_of_yaml_is_read_again_as_it_was(note, tmp_path):
    made = EditDistanceConfig(symbols_note=note)
    (tmp_path / "config.yaml").write_text(to_yaml(made), encoding="utf-8")
    assert from_mapping(EditDistanceConfig, read_yaml(tmp_path / "config.yaml")) == made
