# SPDX-License-Identifier: Apache-2.0
# REQUIRES: qemu
# RUN: %python %s
"""run-on-device.sh of an Android build copies, checks, runs and measures, on a device that a fake adb plays."""
import json
import os
import shlex

from moectest import DEMO, RUN_ANDROID, check, execute, moec, run_json, scratch

PROMPT = "It's a \"dark\" night"
FAKE_ADB = """#!/bin/sh
# Plays a device: a folder, this machine's shell, and an emulator around moe-run.
command=$1
shift
local_path() { printf '%s' "$1" | sed "s|/data/local/tmp|$DEVICE/tmp|g"; }
case $command in
  get-state) echo "${DEVICE_STATE:-device}" ;;
  shell) PATH=$DEVICE/bin:$PATH sh -c "$(local_path "$1")" ;;
  push)
    [ -z "${DEVICE_FULL:-}" ] || { echo "adb: error: no space left on device" >&2; exit 1; }
    to=$(local_path "$2")
    cp "$1" "$to" || exit 1
    echo "${1##*/}" >>"$DEVICE/pushed"
    case $to in
      */moe-run)
        mv "$to" "$to.real"
        printf '#!/bin/sh\\nexec %s "%s.real" "$@"\\n' "$EMULATOR" "$to" >"$to" ;;
    esac ;;
  pull) [ -n "${PULL_NOTHING:-}" ] || cp "$(local_path "$1")" "$2" ;;
  *) echo "fake adb: $command" >&2; exit 1 ;;
esac
"""


class Device:
    """A folder that the fake adb shows as a phone, and an OUT.run to try on it."""

    def __init__(self, folder, prefix):
        self.root, self.home, self.pack = os.path.join(folder, "device"), prefix + ".run", prefix + ".moepack"
        for name in ("bin", "tmp"):
            os.makedirs(os.path.join(self.root, name))
        self.adb = self.write(os.path.join(self.root, "adb"), FAKE_ADB)
        self.properties("arm64-v8a,armeabi-v7a", 34)

    @staticmethod
    def write(path, text):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)
        return path

    def properties(self, abis, level):
        self.write(os.path.join(self.root, "bin", "getprop"),
                   f"#!/bin/sh\ncase $1 in *abilist) echo '{abis}' ;; *) echo {level} ;; esac\n")

    def run(self, *flags, code=0, **variables):
        environment = {**os.environ, "ADB": self.adb, "DEVICE": self.root, "EMULATOR": shlex.join(RUN_ANDROID),
                       **variables}
        script = os.path.join(self.home, "run-on-device.sh")
        return execute(["sh", script, "--bench-flags", "-p 4 -n 2 -r 1", *flags], code=code, env=environment)

    def pushed(self):
        path = os.path.join(self.root, "pushed")
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as file:
            names = file.read().splitlines()
        os.remove(path)
        return names

    def result(self, name):
        with open(os.path.join(self.home, "results", name), encoding="utf-8") as file:
            return json.load(file)


def check_runs(device, prefix):
    text = device.run("--prompt", PROMPT, code=None)
    check(text.code in (0, 3), f"code {text.code}: {text.out}\n{text.err}")
    model = os.path.basename(prefix)
    files = ["moe-run", model + ".so", *(f"{model}.moepack{part}" for part in ("", ".1", ".2", ".3"))]
    check(device.pushed() == files, "copied other files")
    name = "it_s_a__PACK___model"
    check(name + ".so" in os.listdir(os.path.join(device.root, "tmp/moec-" + name)), "another name there")
    expected = run_json(prefix, "--prompt", PROMPT, "--max-tokens", "64", target="@android")
    check(device.result("prompt.json")["ids"] == expected["ids"], "the device says another text")
    check([test["tokens"] for test in device.result("bench.json")["tests"]] == [4, 2], "other measurements")
    check(device.result("doctor.json")["state"] in ("ok", "warning"), f"{device.result('doctor.json')}")
    check("tokens/s (measured)" in text.out and "ok: memory" in text.out, text.out)
    again = device.run("--doctor-only", code=None)
    check(model + ".moepack" not in device.pushed() and "already on the device" in again.out, "copied the pack again")
    device.run("--remove")
    check(os.listdir(os.path.join(device.root, "tmp")) == [], "--remove left something")


def check_refusals(device):
    for code, text, flags, variables in (
            (2, "unknown flag", ("--what",), {}), (2, "expects a value", ("-s",), {}),
            (10, "was not found", (), {"ADB": "/nowhere/adb"}), (11, "offline", (), {"DEVICE_STATE": "offline"}),
            (14, "copying", (), {"DEVICE_FULL": "1"}), (15, "cannot run", ("--memory", "1MB"), {}),
            (18, "doctor.json could not be fetched", ("--memory", "1MB"), {"PULL_NOTHING": "1"})):
        refused = device.run(*flags, code=code, **variables)
        check("error: " in refused.err and text in refused.err, f"{flags}: {refused.err}")
    device.run("--memory", "1MB", code=15)
    check(device.result("doctor.json")["state"] == "error", "doctor.json was not fetched")
    for abis, level, text in (("armeabi-v7a", 34, "armeabi-v7a"), ("arm64-v8a", 27, "API level '27'"),
                              ("arm64-v8a", "x[1]", "API level 'x[1]'"), ("arm64-v8a", "9" * 30, "API level '999")):
        device.properties(abis, level)
        check(text in device.run(code=12).err, f"{abis}, {level}")
    device.properties("arm64-v8a", 28)
    device.run("--remove")
    device.write(os.path.join(device.root, "bin", "df"), "#!/bin/sh\necho head\necho /dev/x 1 1 1000 9% /data\n")
    check("MiB are needed" in device.run(code=13).err, "no word of space")
    os.remove(device.pack)
    check("found no pack" in device.run(code=1).err, "no word of the pack")


with scratch() as scratch_folder:
    # A name that a shell or the template would take apart, and a pack of several parts.
    built = os.path.join(scratch_folder, "it's a @PACK@ $model")
    moec("compile", DEMO, "--target", "snapdragon-8-gen3", "--part-size", "2MB", "--quiet", "-o", built)
    with open(built + ".run/README.txt", encoding="utf-8") as readme:
        check("not run on a phone" in readme.read(), "README.txt does not say that it was not tried")
    phone = Device(scratch_folder, built)
    check_runs(phone, built)
    check_refusals(phone)
