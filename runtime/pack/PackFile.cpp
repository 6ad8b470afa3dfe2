// SPDX-License-Identifier: Apache-2.0
/// \file
/// Files, header and reads of the pack.
#include "runtime/pack/PackFile.h"

#include "runtime/base/Checked.h"
#include "runtime/base/Hash.h"
#include "runtime/base/Platform.h"
#include "runtime/base/Status.h"

#include <stdio.h>
#include <string.h>

namespace moert {

static unsigned long long print(uint64_t value) { return static_cast<unsigned long long>(value); }

//===--- names ----------------------------------------------------------------------------------------------------===//

const char *PackFile::partName(const Part &part, char *text) const {
  unsigned index = static_cast<unsigned>(&part - parts);
  if (index == 0)
    snprintf(text, kPathBytes + 16, "%s", path);
  else
    snprintf(text, kPathBytes + 16, "%s.%u", path, index);
  return text;
}

const PackFile::Part &PackFile::partOf(uint64_t offset) const {
  uint32_t low = 0, high = numParts;
  while (high - low > 1) {
    uint32_t middle = (low + high) / 2;
    if (parts[middle].start <= offset)
      low = middle;
    else
      high = middle;
  }
  return parts[low];
}

/// Direct reads begin, end and are placed at multiples of this; logical blocks are at most this large on UFS, NVMe and
/// virtio.
static constexpr uint64_t kDirectUnit = 4096;

//===--- reading --------------------------------------------------------------------------------------------------===//

int64_t PackFile::readPiece(int fd, void *destination, uint64_t sizeBytes, uint64_t offset) const {
  // More often in a row is no signal and no passing shortage any more; a call must not hang.
  constexpr unsigned kMaxTries = 100;
  int64_t result = 0;
  for (unsigned i = 0; i < kMaxTries; ++i) {
    result = hooks.read ? hooks.read(hooks.user, fd, destination, sizeBytes, offset)
                        : readOnce(fd, destination, sizeBytes, offset);
    if (result != -kErrnoInterrupted && result != -kErrnoAgain)
      break;
    if (result == -kErrnoAgain)
      yieldThread();
  }
  return result;
}

moert_status PackFile::read(uint64_t offset, void *destination, uint64_t sizeBytes, ReadMode mode,
                            moert_error *error) const {
  // Large enough that a call costs nothing beside the transfer, small enough for 32-bit counts everywhere.
  constexpr uint64_t kMaxPieceBytes = 64ull << 20;
  auto *out = static_cast<uint8_t *>(destination);
  char name[kPathBytes + 16];
  bool failed = false;
  while (sizeBytes) {
    const Part &part = partOf(offset);
    uint64_t inPart = offset - part.start;
    uint64_t fileOffset = inPart + (&part == parts ? baseOffset : 0);
    uint64_t piece = minOf(minOf(sizeBytes, kMaxPieceBytes), part.bytes > inPart ? part.bytes - inPart : 0);
    uint64_t aligned = piece / kDirectUnit * kDirectUnit;
    bool direct = mode == ReadMode::Direct && part.directFd >= 0 && aligned && fileOffset % kDirectUnit == 0 &&
                  reinterpret_cast<uint64_t>(out) % kDirectUnit == 0;
    if (direct)
      piece = aligned;
    int64_t got = piece ? readPiece(direct ? part.directFd : part.fd, out, piece, fileOffset) : 0;
    // A short direct read goes on where whole units end.
    bool isStuck = direct && got > 0 && static_cast<uint64_t>(got) < kDirectUnit;
    if (isStuck || (got < 0 && !failed)) {
      failed = failed || got < 0;
      mode = mode == ReadMode::Direct ? ReadMode::Once : mode;
      continue;
    }
    if (got < 0)
      return fail(error, MOERT_STATUS_IO, "cannot read %llu bytes at offset %llu of '%s': %s (%d)%s", print(piece),
                  print(fileOffset), partName(part, name), errnoText(static_cast<int>(-got)), static_cast<int>(-got),
                  kWhenUnreadable);
    if (got == 0 || static_cast<uint64_t>(got) > piece)
      return fail(error, MOERT_STATUS_CORRUPT, "'%s' ends at offset %llu, expected %llu more bytes there%s",
                  partName(part, name), print(fileOffset), print(sizeBytes), kWhenCut);
    uint64_t bytes = static_cast<uint64_t>(got);
    if (direct)
      bytes = bytes / kDirectUnit * kDirectUnit;
    else if (mode != ReadMode::Cached)
      dropCached(part.fd, fileOffset, bytes);
    out += bytes;
    offset += bytes;
    sizeBytes -= bytes;
  }
  return MOERT_STATUS_OK;
}

void PackFile::drop(uint64_t offset, uint64_t sizeBytes) const {
  const Part &part = partOf(offset);
  dropCached(part.fd, offset - part.start + (&part == parts ? baseOffset : 0), sizeBytes);
}

//===--- opening --------------------------------------------------------------------------------------------------===//

static moert_status findSize(int fd, const char *name, uint64_t &sizeBytes, moert_error *error) {
  int64_t found = fileBytes(fd);
  if (found == -kErrnoNoSeek)
    return fail(error, MOERT_STATUS_IO, "'%s' is no regular file: a pack cannot be read from a folder, pipe or device",
                name);
  if (found < 0)
    return fail(error, MOERT_STATUS_IO, "cannot find the size of '%s': %s (%d)", name,
                errnoText(static_cast<int>(-found)), static_cast<int>(-found));
  sizeBytes = static_cast<uint64_t>(found);
  return MOERT_STATUS_OK;
}

moert_status PackFile::openFirst(const moert_open_options &options, uint64_t &foundBytes, moert_error *error) {
  hasPath = options.pack_path != nullptr;
  ownsFirst = hasPath;
  baseOffset = options.pack_offset;
  if (hasPath && strlen(options.pack_path) >= kPathBytes)
    return fail(error, MOERT_STATUS_INVALID_ARGUMENT, "pack path has %llu bytes, expected fewer than %u",
                print(strlen(options.pack_path)), kPathBytes);
  int fd = options.pack_fd;
  if (hasPath) {
    snprintf(path, sizeof(path), "%s", options.pack_path);
    fd = openFile(path, false);
    if (fd < 0)
      return fail(error, MOERT_STATUS_IO, "cannot open the pack '%s': %s (%d)", path, errnoText(-fd), -fd);
  } else {
    snprintf(path, sizeof(path), "file descriptor %d", fd);
  }
  stopReadAhead(fd);
  parts[0] = {0, UINT64_MAX - baseOffset, fd, -1};
  numParts = 1;
  uint64_t size = 0, end = 0;
  if (moert_status status = findSize(fd, path, size, error))
    return status;
  if (!checkedAdd(options.pack_offset, options.pack_bytes, end) || end > size || options.pack_offset > size)
    return fail(error, MOERT_STATUS_INVALID_ARGUMENT,
                "pack range [%llu, +%llu) does not lie in '%s', which has %llu bytes", print(options.pack_offset),
                print(options.pack_bytes), path, print(size));
  foundBytes = options.pack_bytes ? options.pack_bytes : size - options.pack_offset;
  return MOERT_STATUS_OK;
}

static void printId(const uint8_t (&id)[16], char (&text)[33]) {
  for (unsigned i = 0; i < 16; ++i)
    snprintf(text + 2 * i, 3, "%02x", id[i]);
}

moert_status PackFile::checkHeader(const moert_model_descriptor &d, uint64_t found, bool exactEnd,
                                   moert_error *error) const {
  if (memcmp(header.magic, MOEPACK_MAGIC, 8) != 0 && baseOffset)
    return fail(error, MOERT_STATUS_CORRUPT, "'%s' has no weight pack at offset %llu: expected '%s' there", path,
                print(baseOffset), MOEPACK_MAGIC);
  if (memcmp(header.magic, MOEPACK_MAGIC, 8) != 0)
    return fail(error, MOERT_STATUS_CORRUPT, "'%s' is not a weight pack: it does not begin with '%s'", path,
                MOEPACK_MAGIC);
  if (header.format_version != MOEPACK_FORMAT_VERSION || header.abi_version != MOERT_GENERATED_ABI_VERSION)
    return fail(error, MOERT_STATUS_MISMATCH,
                "'%s' has format version %u and abi version %u, expected %u and %u; compile the model again", path,
                header.format_version, header.abi_version, MOEPACK_FORMAT_VERSION, MOERT_GENERATED_ABI_VERSION);
  if (hash64(&header, offsetof(moepack_header, header_checksum)) != header.header_checksum)
    return fail(error, MOERT_STATUS_CORRUPT, "'%s' has a damaged header: its checksum does not match%s", path,
                kWhenDamaged);
  if (header.layout_family != d.layout_family)
    return fail(error, MOERT_STATUS_MISMATCH, "'%s' has layout family %u, target '%s' needs %u", path,
                header.layout_family, d.target_name ? d.target_name : "?", d.layout_family);
  char foundId[33], expectedId[33];
  bool samePlan = memcmp(header.plan_id, d.plan_id, 16) == 0;
  if (!samePlan || memcmp(header.weights_id, d.weights_id, 16) != 0) {
    printId(samePlan ? header.weights_id : header.plan_id, foundId);
    printId(samePlan ? d.weights_id : d.plan_id, expectedId);
    return fail(error, MOERT_STATUS_MISMATCH,
                "'%s' is the pack of another model: its %s id is %s, '%s' expects %s; use the pack of the same compile",
                path, samePlan ? "weights" : "plan", foundId, d.model_name ? d.model_name : "?", expectedId);
  }
  uint64_t part = header.num_parts > 1 ? header.part_bytes : header.total_bytes, directoryEnd = 0, tableBytes = 0;
  bool valid = header.page_bytes == MOEPACK_PAGE_BYTES && header.directory_offset == MOEPACK_PAGE_BYTES &&
               header.num_parts >= 1 && header.num_parts <= kMaxParts && header.num_records <= UINT32_MAX &&
               checkedMul(header.num_records, sizeof(moepack_record), tableBytes) &&
               checkedAdd(header.directory_offset, tableBytes, directoryEnd) && directoryEnd <= header.total_bytes &&
               header.resident_offset <= header.total_bytes &&
               header.resident_bytes <= header.total_bytes - header.resident_offset &&
               (header.num_parts == 1 ||
                (header.part_table_offset <= header.total_bytes &&
                 header.num_parts * sizeof(moepack_part) <= header.total_bytes - header.part_table_offset));
  if (!valid)
    return fail(error, MOERT_STATUS_CORRUPT, "'%s' has a header whose offsets do not lie in its %llu bytes", path,
                print(header.total_bytes));
  if (header.resident_bytes != d.plan.resident_bytes)
    return fail(error, MOERT_STATUS_MISMATCH, "'%s' has %llu resident bytes, '%s' expects %llu", path,
                print(header.resident_bytes), d.model_name ? d.model_name : "?", print(d.plan.resident_bytes));
  if (header.num_parts == 1 && (found < part || (exactEnd && found != part)))
    return fail(error, MOERT_STATUS_CORRUPT, "'%s' is %s: found %llu bytes, needed %llu; copy the pack again", path,
                found < part ? "truncated" : "too long", print(found), print(part));
  return MOERT_STATUS_OK;
}

moert_status PackFile::openParts(uint64_t foundBytes, moert_error *error) {
  uint64_t start = 0;
  if (header.num_parts == 1) {
    parts[0].bytes = header.total_bytes;
    return MOERT_STATUS_OK;
  }
  if (!hasPath)
    return fail(error, MOERT_STATUS_INVALID_ARGUMENT,
                "the pack has %u parts, which needs a path, not a file descriptor", header.num_parts);
  // Until the table, which lies in part 0, was read through it, part 0 is taken as everything that was found.
  parts[0].bytes = foundBytes;
  uint64_t firstBytes = foundBytes;
  for (uint32_t i = 0; i < header.num_parts; ++i) {
    moepack_part entry;
    if (moert_status status =
            read(header.part_table_offset + i * sizeof(entry), &entry, sizeof(entry), ReadMode::Cached, error))
      return status;
    uint64_t end = 0;
    if (entry.start != start || !checkedAdd(start, entry.bytes, end) || end > header.total_bytes)
      return fail(error, MOERT_STATUS_CORRUPT, "part table of '%s' is damaged: part %u covers [%llu, +%llu)", path, i,
                  print(entry.start), print(entry.bytes));
    char name[kPathBytes + 16];
    partName(parts[i], name);
    if (i > 0) {
      int fd = openFile(name, false);
      if (fd < 0)
        return fail(error, MOERT_STATUS_IO, "cannot open part %u of %u of the pack, '%s': %s (%d)", i, header.num_parts,
                    name, errnoText(-fd), -fd);
      stopReadAhead(fd);
      parts[i] = {start, entry.bytes, fd, -1};
      numParts = i + 1;
      if (moert_status status = findSize(fd, name, foundBytes, error))
        return status;
    } else {
      firstBytes = entry.bytes;
    }
    if (foundBytes != entry.bytes)
      return fail(error, MOERT_STATUS_CORRUPT, "'%s' is %s: found %llu bytes, needed %llu; copy the pack again", name,
                  foundBytes < entry.bytes ? "truncated" : "too long", print(foundBytes), print(entry.bytes));
    start = end;
  }
  if (start != header.total_bytes)
    return fail(error, MOERT_STATUS_CORRUPT, "part table of '%s' covers %llu bytes, the header says %llu", path,
                print(start), print(header.total_bytes));
  parts[0].bytes = firstBytes;
  return MOERT_STATUS_OK;
}

moert_status PackFile::open(const moert_model_descriptor &descriptor, const moert_open_options &options,
                            const Hooks &testHooks, moert_error *error) {
  hooks = testHooks;
  uint64_t found = 0;
  if (moert_status status = openFirst(options, found, error))
    return status;
  if (found < sizeof(header))
    return fail(error, MOERT_STATUS_CORRUPT,
                "'%s' is truncated: found %llu bytes, a header has %u; copy the pack again", path, print(found),
                MOEPACK_PAGE_BYTES);
  if (moert_status status = read(0, &header, sizeof(header), ReadMode::Cached, error))
    return status;
  bool exactEnd = options.pack_offset == 0 && options.pack_bytes == 0;
  if (moert_status status = checkHeader(descriptor, found, exactEnd, error))
    return status;
  return openParts(found, error);
}

moert_status PackFile::checkDirectory(void *piece, uint64_t pieceBytes, moert_error *error) const {
  Hash128 hash;
  uint64_t sizeBytes = header.num_records * sizeof(moepack_record); // checkHeader saw that it fits
  hash.begin();
  for (uint64_t done = 0; done < sizeBytes; done += pieceBytes) {
    uint64_t bytes = minOf(pieceBytes, sizeBytes - done);
    if (moert_status status = read(header.directory_offset + done, piece, bytes, ReadMode::Cached, error))
      return status;
    hash.update(piece, bytes);
  }
  return compareDirectory(hash, error);
}

moert_status PackFile::compareDirectory(Hash128 &hash, moert_error *error) const {
  uint8_t digest[16];
  hash.finish(digest);
  if (memcmp(digest, header.weights_id, sizeof(digest)) != 0)
    return fail(error, MOERT_STATUS_CORRUPT,
                "directory of '%s' is damaged: its hash does not match the weights id in the header%s", path,
                kWhenDamaged);
  return MOERT_STATUS_OK;
}

bool PackFile::openDirect() {
  bool valid = baseOffset % kDirectUnit == 0;
  for (uint32_t i = 0; valid && i < numParts; ++i) {
    char name[kPathBytes + 16];
    partName(parts[i], name);
    if (!hasPath)
      snprintf(name, sizeof(name), "/proc/self/fd/%d", parts[0].fd);
    parts[i].directFd = openFile(name, true);
    // Meanwhile another file may have got the name.
    valid = parts[i].directFd >= 0 && parts[i].start % kDirectUnit == 0 && isSameFile(parts[i].fd, parts[i].directFd);
  }
  if (!valid)
    closeDirect();
  return valid;
}

void PackFile::closeDirect() {
  for (uint32_t i = 0; i < numParts; ++i) {
    closeFile(parts[i].directFd);
    parts[i].directFd = -1;
  }
}

void PackFile::close() {
  closeDirect();
  for (uint32_t i = 0; i < numParts; ++i)
    if (i > 0 || ownsFirst)
      closeFile(parts[i].fd);
  numParts = 0;
}

} // namespace moert
