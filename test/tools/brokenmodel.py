# SPDX-License-Identifier: Apache-2.0
"""Copies of the demo model with one thing changed: for tests of bad input."""
import json
import os
import shutil
import struct

import moectest


class Checkpoint:
    """A copy of the demo model in `folder` whose parts can be rewritten."""

    def __init__(self, folder):
        self.folder = os.path.join(folder, "model")
        shutil.copytree(moectest.DEMO, self.folder)
        self.weights = os.path.join(self.folder, "model.safetensors")

    def path(self, name):
        return os.path.join(self.folder, name)

    def edit_json(self, name, **changes):
        """Sets keys of a JSON file; None removes the key."""
        with open(self.path(name), encoding="utf-8") as file:
            content = json.load(file)
        for key, value in changes.items():
            if value is None:
                content.pop(key, None)
            else:
                content[key] = value
        with open(self.path(name), "w", encoding="utf-8") as file:
            json.dump(content, file)

    def cut(self, num_bytes, path=None):
        """Drops the last bytes of the weights."""
        path = path or self.weights
        os.truncate(path, os.path.getsize(path) - num_bytes)

    def read_tensors(self):
        """Returns ({name: (dtype, shape, bytes)}) in file order."""
        with open(self.weights, "rb") as file:
            header_bytes = struct.unpack("<Q", file.read(8))[0]
            header = json.loads(file.read(header_bytes))
            start = 8 + header_bytes
            tensors = {}
            for name, entry in header.items():
                if name != "__metadata__":
                    begin, end = entry["data_offsets"]
                    file.seek(start + begin)
                    tensors[name] = (entry["dtype"], entry["shape"], file.read(end - begin))
        return tensors

    def write_tensors(self, tensors, path=None):
        write_safetensors(path or self.weights, tensors)

    def shard(self, num_shards, also_in_first=()):
        """Splits the weights into shards with an index; the names in `also_in_first` are stored twice."""
        tensors = self.read_tensors()
        names = list(tensors)
        weight_map, per_shard = {}, -(-len(names) // num_shards)
        for index in range(num_shards):
            file_name = f"model-{index + 1:05d}-of-{num_shards:05d}.safetensors"
            own = names[index * per_shard:(index + 1) * per_shard]
            weight_map.update({name: file_name for name in own})
            stored = own + [name for name in also_in_first if index == 0 and name not in own]
            self.write_tensors({name: tensors[name] for name in stored}, self.path(file_name))
        os.remove(self.weights)
        size_bytes = sum(len(data) for _, _, data in tensors.values())
        with open(self.path("model.safetensors.index.json"), "w", encoding="utf-8") as file:
            json.dump({"metadata": {"total_size": size_bytes}, "weight_map": weight_map}, file)
        return sorted(set(weight_map.values()))


def write_safetensors(path, tensors, repeat_key=None):
    """Writes {name: (dtype, shape, bytes)}; `repeat_key` puts one name twice into the header."""
    entries, offset = [], 0
    for name, (dtype, shape, data) in tensors.items():
        entry = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + len(data)]}
        entries.append(f"{json.dumps(name)}:{json.dumps(entry)}")
        if name == repeat_key:
            entries.append(entries[-1])
        offset += len(data)
    header = ("{" + ",".join(entries) + "}").encode()
    header += b" " * (-len(header) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        for _, _, data in tensors.values():
            file.write(data)


def compile_broken(model_folder, out_folder, *flags):
    """Compiles for the host, any exit code; afterwards nothing may be left at the output's name."""
    prefix = os.path.join(out_folder, "broken")
    result = moectest.moec("compile", model_folder, "--target", "host", *flags, "-o", prefix, code=None)
    if result.code != 0:
        left = [name for name in os.listdir(out_folder) if name.startswith("broken")]
        moectest.check(not left, f"a failed compile left {left}: {result.command}")
    return result
