"""The committed contracts are what proto/ generates and stay compatible with the frozen ones."""

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, pairwise
from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
)

from graphwright.contracts.v1 import execution_pb2, grading_pb2, graph_pb2, search_pb2

ROOT = Path(__file__).resolve().parents[2]
FROZEN = ROOT / "tests" / "golden" / "contracts_v1.binpb"
MODULES = (execution_pb2, grading_pb2, graph_pb2, search_pb2)


def frozen() -> FileDescriptorSet:
    return FileDescriptorSet.FromString(FROZEN.read_bytes())


def present() -> FileDescriptorSet:
    contracts = FileDescriptorSet()
    for module in MODULES:
        module.DESCRIPTOR.CopyToProto(contracts.file.add())
    return contracts


def breaking_changes(old: FileDescriptorSet, new: FileDescriptorSet) -> list[str]:
    """What a program built against `old` would no longer understand of `new`."""
    return [*_messages(old, new), *_enums(old, new), *_rpcs(old, new)]


def _messages(old: FileDescriptorSet, new: FileDescriptorSet) -> Iterator[str]:
    kept = {message.name: message for file in new.file for message in file.message_type}
    for message in chain.from_iterable(file.message_type for file in old.file):
        if message.name not in kept:
            yield f"message {message.name} vanished"
        else:
            yield from _fields(message, kept[message.name])


def _fields(old: DescriptorProto, new: DescriptorProto) -> Iterator[str]:
    by_number = {field.number: field for field in new.field}
    for field in old.field:
        kept = by_number.get(field.number)
        if kept is not None and _shape(kept) != _shape(field):
            yield f"{old.name}.{field.name}: number {field.number} is something else"
        elif kept is None and not _reserved(new, field):
            yield f"{old.name}.{field.name} vanished without being reserved"
    # protoc refuses this within one file; a set put together by other means need not obey.
    for field in new.field:
        if _number_reserved(old, field.number):
            yield f"{new.name}.{field.name}: number {field.number} was reserved"


def _shape(field: FieldDescriptorProto) -> tuple[object, ...]:
    return field.name, field.type, field.type_name, field.label, field.proto3_optional


def _reserved(message: DescriptorProto, field: FieldDescriptorProto) -> bool:
    return _number_reserved(message, field.number) and field.name in message.reserved_name


def _number_reserved(message: DescriptorProto, number: int) -> bool:
    return any(span.start <= number < span.end for span in message.reserved_range)


def _enums(old: FileDescriptorSet, new: FileDescriptorSet) -> Iterator[str]:
    kept = {enum.name: enum for file in new.file for enum in file.enum_type}
    for enum in chain.from_iterable(file.enum_type for file in old.file):
        if enum.name not in kept:
            yield f"enum {enum.name} vanished"
        else:
            yield from _values(enum, kept[enum.name])


def _values(old: EnumDescriptorProto, new: EnumDescriptorProto) -> Iterator[str]:
    names = {value.number: value.name for value in new.value}
    for value in old.value:
        name = names.get(value.number)
        reserved = any(span.start <= value.number <= span.end for span in new.reserved_range)
        if name is not None and name != value.name:
            yield f"{old.name}.{value.name}: number {value.number} is something else"
        elif name is None and not (reserved and value.name in new.reserved_name):
            yield f"{old.name}.{value.name} vanished without being reserved"


def _rpcs(old: FileDescriptorSet, new: FileDescriptorSet) -> Iterator[str]:
    kept = set(_signatures(new.file))
    for signature in _signatures(old.file):
        if signature not in kept:
            yield f"rpc {signature[0]} vanished or changed"


def _signatures(files: Sequence[FileDescriptorProto]) -> Iterator[tuple[str, str, str, bool, bool]]:
    for service in chain.from_iterable(file.service for file in files):
        for rpc in service.method:
            types = rpc.input_type, rpc.output_type
            name = f"{service.name}.{rpc.name}"
            yield name, *types, rpc.client_streaming, rpc.server_streaming


def message(contracts: FileDescriptorSet, name: str) -> DescriptorProto:
    return next(m for file in contracts.file for m in file.message_type if m.name == name)


def enum(contracts: FileDescriptorSet, name: str) -> EnumDescriptorProto:
    return next(e for file in contracts.file for e in file.enum_type if e.name == name)


def reuse_tag(contracts: FileDescriptorSet) -> None:
    node = message(contracts, "Node")
    del node.field[1]
    node.field.add(name="size", number=2, type=node.field[0].TYPE_INT32, label=1)


def renumber(contracts: FileDescriptorSet) -> None:
    message(contracts, "Node").field[1].number = 9


def retype(contracts: FileDescriptorSet) -> None:
    field = message(contracts, "Edge").field[0]
    field.type = field.TYPE_STRING


def relabel(contracts: FileDescriptorSet) -> None:
    field = message(contracts, "Edge").field[0]
    field.label = field.LABEL_REPEATED


def make_required(contracts: FileDescriptorSet) -> None:
    seed = next(f for f in message(contracts, "SearchSpec").field if f.name == "seed")
    seed.proto3_optional = False


def rename(contracts: FileDescriptorSet) -> None:
    message(contracts, "Edge").field[0].name = "origin"


def drop_field(contracts: FileDescriptorSet) -> None:
    del message(contracts, "Execution").field[-1]


def drop_message(contracts: FileDescriptorSet) -> None:
    message(contracts, "Grade").name = "Mark"


def drop_value(contracts: FileDescriptorSet) -> None:
    del enum(contracts, "SearchState").value[-1]


def renumber_value(contracts: FileDescriptorSet) -> None:
    roles = enum(contracts, "Role").value
    roles[1].number, roles[2].number = 2, 1


def drop_rpc(contracts: FileDescriptorSet) -> None:
    del next(file for file in contracts.file if file.service).service[0].method[-1]


def stop_streaming(contracts: FileDescriptorSet) -> None:
    rpcs = next(file for file in contracts.file if file.service).service[0].method
    next(rpc for rpc in rpcs if rpc.server_streaming).server_streaming = False


BREAKING = {
    reuse_tag: "Node.model",
    renumber: "Node.model",
    retype: "Edge.source",
    relabel: "Edge.source",
    make_required: "SearchSpec.seed",
    rename: "Edge.source",
    drop_field: "Execution.usd",
    drop_message: "message Grade",
    drop_value: "SearchState.SEARCH_STATE_CANCELLED",
    renumber_value: "Role.ROLE_ASSISTANT",
    drop_rpc: "rpc SearchService.ListTrials",
    stop_streaming: "rpc SearchService.WatchSearch",
}


def test_the_contracts_stay_compatible_with_the_frozen_ones() -> None:
    assert breaking_changes(frozen(), present()) == []


@pytest.mark.parametrize(("doctor", "culprit"), BREAKING.items(), ids=str)
def test_a_breaking_change_is_named(
    doctor: Callable[[FileDescriptorSet], None], culprit: str
) -> None:
    doctored = frozen()
    doctor(doctored)
    faults = breaking_changes(frozen(), doctored)
    assert faults
    assert faults[0].startswith(culprit)


def test_a_reserved_number_must_not_come_back() -> None:
    old, new = frozen(), frozen()
    message(old, "Node").reserved_range.add(start=3, end=4)
    message(new, "Node").field.add(name="size", number=3, type=5, label=1)
    assert breaking_changes(old, new) == ["Node.size: number 3 was reserved"]


def test_additions_and_reserved_removals_pass() -> None:
    extended = frozen()
    node = message(extended, "Node")
    node.field.add(name="size", number=7, type=5, label=1)
    del node.field[1]
    node.reserved_range.add(start=2, end=3)
    node.reserved_name.append("model")
    states = enum(extended, "SearchState")
    states.value.add(name="SEARCH_STATE_PAUSED", number=9)
    del states.value[5]
    states.reserved_range.add(start=5, end=5)
    states.reserved_name.append("SEARCH_STATE_CANCELLED")
    service = next(file for file in extended.file if file.service).service[0]
    service.method.add(name="PauseSearch", input_type="a", output_type="b")
    extended.file[0].message_type.add(name="Sketch")
    assert breaking_changes(frozen(), extended) == []


def test_every_enum_starts_unspecified_and_carries_its_name() -> None:
    for kind in chain.from_iterable(file.enum_type for file in present().file):
        prefix = "".join(f"_{c}" if c.isupper() else c.upper() for c in kind.name)[1:]
        assert (kind.value[0].number, kind.value[0].name) == (0, f"{prefix}_UNSPECIFIED")
        assert all(value.name.startswith(f"{prefix}_") for value in kind.value)


def test_every_rpc_has_a_request_and_a_response_of_its_own() -> None:
    service = search_pb2.DESCRIPTOR.services_by_name["SearchService"]
    for rpc in service.methods:
        assert rpc.input_type.name == f"{rpc.name}Request"
        assert rpc.output_type.name == f"{rpc.name}Response"


def test_generated_code_is_what_proto_generates() -> None:
    command = [sys.executable, "proto/generate.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_everything_in_the_proto_files_is_commented() -> None:
    for path in sorted((ROOT / "proto").rglob("*.proto")):
        lines = [line.strip() for line in path.read_text().splitlines()]
        for above, line in pairwise(lines):
            declares = line.startswith(("message ", "enum ", "service ", "rpc ")) or (
                line.endswith(";") and " = " in line and not line.startswith("syntax")
            )
            if declares:
                assert above.startswith("//"), f"{path.name}: {line}"
