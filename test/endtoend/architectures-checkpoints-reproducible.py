# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""The tiny checkpoints of all families are, to the byte, those that transformers computed the goldens from."""
import hashlib
import json
import os

import architectures
from moectest import check

with open(os.path.join(architectures.FOLDER, "goldens.json"), encoding="utf-8") as file:
    models = json.load(file)["models"]
check(set(models) == set(architectures.configs()) - set(architectures.SAME_VALUES), "a model has no goldens")
for name, golden in models.items():
    found = hashlib.sha256(architectures.weights(name)).hexdigest()
    check(found == golden["weights_sha256"], f"{name}: the weights have SHA-256 {found}; run make.py again")
