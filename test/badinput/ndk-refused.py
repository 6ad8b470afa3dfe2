# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""--ndk takes the libraries of an NDK; a folder that is none, an old one and another platform are refused."""
import os
import shutil

from moectest import BUILD, DEMO, check, expect_error, moec, scratch

STUBS = os.path.join(BUILD, "lib", "moert", "aarch64-linux-android", "stubs")
TARGET = "arm64-dotprod@android"


def compile_with(ndk, out, target=TARGET, code=None):
    return moec("compile", DEMO, "--target", target, "--ndk", ndk, "--quiet", "-o", out, code=code)


def level(ndk, number):
    folder = os.path.join(ndk, "toolchains/llvm/prebuilt/linux-x86_64/sysroot/usr/lib/aarch64-linux-android", number)
    os.makedirs(folder)
    for name in ("libc.so", "libdl.so"):
        shutil.copy(os.path.join(STUBS, name), folder)


with scratch() as folder:
    ndk, out = os.path.join(folder, "ndk"), os.path.join(folder, "out")
    expect_error(compile_with(ndk, out), "--ndk", "is no folder")
    os.mkdir(ndk)
    expect_error(compile_with(ndk, out), "is no Android NDK", "source.properties")
    with open(os.path.join(ndk, "source.properties"), "w", encoding="utf-8") as file:
        file.write("Pkg.Revision = 0\n")
    level(ndk, "21")
    expect_error(compile_with(ndk, out), "API level 28", "highest level is 21")
    level(ndk, "30")
    expect_error(compile_with(ndk, out, target="arm64-dotprod"), "--ndk is for Android targets", "linux-gnu")
    check(os.listdir(folder) == ["ndk"], f"left something behind: {os.listdir(folder)}")
    compile_with(ndk, out, code=0)
    check(os.path.exists(out + ".so") and os.path.exists(out + ".run/moe-run"), "the link against an NDK wrote nothing")
