# SPDX-License-Identifier: Apache-2.0
"""A described machine for `moe-run --root DIR` (docs/doctor.md): a phone with four fast and four slow cores on which
nothing is wrong. A test changes one file after the other."""
import contextlib
import os
import struct

FLAGS = "fma f16c avx2 avx_vnni avx512f avx512dq avx512bw avx512vl avx512_vnni"
ARM = "fp asimd fphp asimdhp asimddp i8mm"
CPU = "sys/devices/system/cpu/cpu{}/"
THERMAL = "sys/class/thermal/"


def auxv(page_bytes):
    return struct.pack("<4Q", 6, page_bytes, 0, 0)


def meminfo(available_kib=8_000_000, swap_free_kib=4_000_000):
    return (f"MemTotal:       12000000 kB\nMemFree:         1000000 kB\nMemAvailable:   {available_kib:>9} kB\n"
            f"SwapTotal:       4000000 kB\nSwapFree:       {swap_free_kib:>9} kB\n")


def mountinfo(kind="ext4"):
    return f"22 27 0:21 / /proc rw - proc proc rw\n27 1 254:0 / / rw,relatime shared:1 - {kind} /dev/vda rw\n"


class Machine:
    """The folder `root` with the files of the phone."""

    def __init__(self, root):
        self.root = root
        self.write("proc/meminfo", meminfo())
        self.write("proc/vmstat", "pgfault 100\npswpin 5000\npswpout 9000\n")
        self.write("proc/cpuinfo", f"processor : 0\nflags\t\t: {FLAGS}\nFeatures\t: {ARM}\n")
        self.write("proc/sys/kernel/osrelease", "6.1.0-described\n")
        self.write("proc/self/auxv", auxv(4096))
        self.write("proc/self/status", "Name:\tmoe-run\nCapEff:\t0000000000000000\nCpus_allowed_list:\t0-7\n")
        self.write("proc/self/limits", "Max locked memory         67108864             67108864             bytes\n")
        self.write("proc/self/mountinfo", mountinfo())
        for cpu in range(8):
            top = 2_000_000 if cpu < 4 else 3_000_000
            self.write(CPU.format(cpu) + "cpu_capacity", 300 if cpu < 4 else 1024)
            for name in ("cpuinfo_max_freq", "scaling_max_freq", "scaling_cur_freq"):
                self.write(CPU.format(cpu) + "cpufreq/" + name, top)
        for name, text in (("type", "cpu-big"), ("temp", 41_000), ("trip_point_0_type", "passive"),
                           ("trip_point_0_temp", 85_000), ("trip_point_1_type", "active"),
                           ("trip_point_1_temp", 40_000)):
            self.write(THERMAL + "thermal_zone0/" + name, text)
        for device, kind, state in ((0, "fan", 2), (1, "thermal-cpufreq-0", 0)):
            for name, text in (("type", kind), ("cur_state", state), ("max_state", 9)):
                self.write(f"{THERMAL}cooling_device{device}/{name}", text)
        self.write("moec/free_bytes", 40_000_000_000)
        self.write("moec/read_mbps", 1800)

    def write(self, name, content):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if not isinstance(content, bytes):
            content = f"{content}\n".encode()
        with open(path, "wb") as file:
            file.write(content)

    def remove(self, name):
        os.remove(os.path.join(self.root, name))

    @contextlib.contextmanager
    def changed(self, name, content):
        """The file has another content meanwhile; None: it is missing."""
        path = os.path.join(self.root, name)
        with open(path, "rb") as file:
            before = file.read()
        if content is None:
            os.remove(path)
        else:
            self.write(name, content)
        try:
            yield
        finally:
            self.write(name, before)
