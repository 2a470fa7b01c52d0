"""The table of devices, and how a module says that it is played on another one."""

from typing import get_args

from attract.schema.devices import DEVICES, DeviceName, device_of, on_device


def test_each_name_has_its_row_and_only_fingers_have_a_size():
    assert get_args(DeviceName) == tuple(DEVICES)
    assert all((device.size is None) == (not device.touch) for device in DEVICES.values())


def test_a_module_says_its_device_in_front_of_all_else():
    code = b"// a.ts\nexport default 1;"
    assert on_device(code, "desktop@2x") == b'globalThis.attractDevice="desktop@2x";' + code
    assert device_of(on_device(code, "desktop@2x")) == "desktop@2x"
    strange = b'globalThis.attractDevice="watch";'
    assert [device_of(code), device_of(strange), device_of(code + on_device(code, "phone"))] == [None] * 3
