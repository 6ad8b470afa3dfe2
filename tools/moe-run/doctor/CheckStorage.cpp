// SPDX-License-Identifier: Apache-2.0
/// \file
/// The pack, the file system on which it lies, and the space there. The pack is checked by the runtime's own code,
/// compiled into this program.
#include "tools/moe-run/doctor/Checks.h"

#include "moert/PackCheck.h"

#include <stdio.h>
#include <sys/statfs.h>

namespace moerun {

//===--- pack -----------------------------------------------------------------------------------------------------===//

static bool addPackError(Patient &patient, const char *found) {
  patient.findings.add("pack", State::Error, "%s", found)
      .need("the whole pack of the same compile as the library")
      .advise("copy OUT.moepack (all parts) of that compile beside OUT.so, or name it by --pack");
  return false;
}

bool checkPack(Patient &patient) {
  const Options &options = patient.options;
  if (!findPack(options, patient.packPath)) {
    patient.packPath.setSize(0);
    return addPackError(patient,
                        options.packPath ? "--pack names no file that can be read" : "no pack beside the library");
  }
  moert_open_options open = openOptions(options, patient.packPath.data());
  moert_error error = {};
  moert_pack_check check = {};
  if (moert_check_pack(patient.model, &open, &check, &error) != MOERT_STATUS_OK)
    return addPackError(patient, error.message);
  patient.packStart = options.packOffset;
  patient.firstPartBytes = check.first_part_bytes;
  patient.packBytes = check.total_bytes;
  patient.findings
      .add("pack", State::Ok, "%s: %llu bytes in %u parts", patient.packPath.data(),
           static_cast<unsigned long long>(check.total_bytes), check.num_parts)
      .need("the whole pack of the same compile; weights are checked when they are read");
  return true;
}

//===--- file system ----------------------------------------------------------------------------------------------===//

namespace {

/// What /proc/self/mountinfo says of a path.
struct Mount {
  bool isKnown = false;
  char type[32] = "", point[1024] = "";
};

} // namespace

/// Copies a word in which \ooo stands for a character, cut to what fits. Answers what is behind it.
static const char *copyWord(const char *at, char *word, size_t capacity) {
  size_t length = 0;
  for (; *at && *at != ' ' && *at != '\n'; ++length) {
    char character = *at++;
    if (character == '\\' && at[0] >= '0' && at[0] <= '3' && at[1] >= '0' && at[1] <= '7' && at[2] >= '0' &&
        at[2] <= '7') {
      character = static_cast<char>((at[0] - '0') * 64 + (at[1] - '0') * 8 + (at[2] - '0'));
      at += 3;
    }
    if (length + 1 < capacity)
      word[length] = character;
  }
  word[length < capacity ? length : capacity - 1] = '\0';
  return at;
}

/// `36 35 98:0 /root /point options [tags] - type source options`. Source: proc_pid_mountinfo(5).
static const char *parseMount(const char *line, char (&point)[1024], char (&type)[32]) {
  char word[1024] = "";
  for (unsigned i = 0; *line && *line != '\n'; ++i) {
    line = copyWord(line + (*line == ' '), i == 4 ? point : word, sizeof(point));
    if (i > 4 && strcmp(word, "-") == 0)
      line = copyWord(line + (*line == ' '), type, sizeof(type));
  }
  return *line ? line + 1 : line;
}

/// The mount with the longest point above `path`; of equal ones the last, which hides the others.
static Mount findMount(const Machine &machine, const char *path) {
  constexpr size_t kMostBytes = 256 * 1024; // an Android device has some hundred mounts
  Mount mount;
  Array<char> text;
  char *absolute = realpath(path, nullptr);
  if (!absolute || !text.reserve(kMostBytes) || !machine.readText(text.data(), kMostBytes, "/proc/self/mountinfo")) {
    free(absolute);
    return mount;
  }
  size_t longest = 0;
  for (const char *line = text.data(); *line;) {
    char point[1024] = "", type[32] = "";
    line = parseMount(line, point, type);
    size_t length = strlen(point);
    bool isRoot = strcmp(point, "/") == 0;
    if (length == 0 || length < longest || !type[0] || strncmp(absolute, point, length) != 0 ||
        (!isRoot && absolute[length] != '/' && absolute[length] != '\0'))
      continue;
    longest = length;
    mount.isKnown = true;
    memcpy(mount.type, type, sizeof(type));
    memcpy(mount.point, point, sizeof(point));
  }
  free(absolute);
  return mount;
}

/// Where Android shows shared storage, whatever the type of the mount is called.
static bool isSharedStorage(const char *path) {
  char *absolute = realpath(path, nullptr);
  bool isShared = false;
  constexpr const char *kFolders[] = {"/storage/emulated/", "/storage/self/", "/sdcard/", "/mnt/user/",
                                      "/mnt/runtime/"};
  for (const char *folder : kFolders)
    isShared |= strncmp(absolute ? absolute : path, folder, strlen(folder)) == 0;
  free(absolute);
  return isShared;
}

void checkFileSystem(Patient &patient) {
  constexpr uint64_t kFuse = 0x65735546; // FUSE_SUPER_MAGIC, linux/fs/fuse/inode.c
  if (patient.packPath.size() == 0) {
    patient.findings.addUnknown("file_system", "there is no pack");
    return;
  }
  const char *path = patient.packPath.data();
  Mount mount = findMount(patient.machine, path);
  struct statfs status = {};
  bool hasStatus = !patient.machine.isInjected() && statfs(path, &status) == 0;
  bool isFuse = strncmp(mount.type, "fuse", 4) == 0 || (hasStatus && static_cast<uint64_t>(status.f_type) == kFuse);
  bool isShared = isSharedStorage(path);
  patient.isOnFuse = isFuse || isShared;
  if (!mount.isKnown && !hasStatus && !isShared) {
    patient.findings.addUnknown("file_system", "the file system of the pack is not known");
    return;
  }
  const char *type = isFuse && !mount.type[0] ? "fuse" : mount.isKnown ? mount.type : "unknown";
  Finding &f = patient.findings.add("file_system", patient.isOnFuse ? State::Warning : State::Ok,
                                    "%s, mounted at %.400s%s", type, mount.isKnown ? mount.point : "an unknown place",
                                    isShared ? ", in Android's shared storage" : "");
  f.need("no FUSE: there each read goes through another process and its page cache");
  f.advise("move the pack to the app's own files (/data/user/0/APP/files) or to /data/local/tmp");
  if (isFuse)
    f.measure(static_cast<double>(kFuse), static_cast<double>(status.f_type), "file system type");
}

//===--- space ----------------------------------------------------------------------------------------------------===//

/// Bytes that a program may still write where the pack lies. Injected: /moec/free_bytes below the root.
static bool readFree(const Patient &patient, uint64_t *bytes) {
  if (patient.machine.isInjected()) {
    int64_t value = 0;
    bool isKnown = patient.machine.readNumber(&value, "/moec/free_bytes") && value >= 0;
    *bytes = static_cast<uint64_t>(value);
    return isKnown;
  }
  struct statfs status = {};
  if (patient.packPath.size() == 0 || statfs(patient.packPath.data(), &status) != 0)
    return false;
  *bytes = static_cast<uint64_t>(status.f_bavail) * static_cast<uint64_t>(status.f_bsize);
  return true;
}

void checkSpace(Patient &patient) {
  uint64_t left = 0;
  if (!readFree(patient, &left)) {
    patient.findings.addUnknown("flash_space", "the file system of the pack does not answer");
    return;
  }
  auto free = static_cast<double>(left), wanted = static_cast<double>(patient.packBytes);
  // Nothing is written while a model runs, but an update lays the new pack beside the old one.
  patient.findings.add("flash_space", free < wanted ? State::Warning : State::Ok, "%.1f MB free", free / 1e6)
      .need("%.1f MB, the pack once more: an update writes the new one before it deletes the old one; the model itself "
            "writes nothing",
            wanted / 1e6)
      .advise("free %.1f MB, or delete this pack before another one is installed", (wanted - free) / 1e6)
      .measure(free, wanted, "bytes");
}

} // namespace moerun
