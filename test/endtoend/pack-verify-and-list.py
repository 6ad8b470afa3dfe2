# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""moe-pack verify accepts a fresh pack; list names every expert record once."""
from moectest import check, compiled, moe_pack

pack = compiled("mixed") + ".moepack"
check(moe_pack("verify", pack).code == 0, "verify refuses a fresh pack")
lines = moe_pack("list", pack).out.splitlines()
experts = [line for line in lines if "expert" in line]
# 4 layers of 16 experts; one more line may sum them up.
check(len(experts) >= 64, f"{len(experts)} lines name an expert, expected at least 64")
