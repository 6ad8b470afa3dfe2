// SPDX-License-Identifier: Apache-2.0
/// \file
/// A compiled model of this machine, loaded through its C API. Main source: docs/c-api.md.
#include "lib/Compiler/LoadedModel.h"

#include "lib/Compiler/Descriptor.h"
#include "lib/Compiler/LinkStep.h"
#include "lib/Support/Fault.h"
#include "lib/Support/Files.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <algorithm>
#include <dlfcn.h>
#include <utility>

namespace moec {

/// The pack beside `library`: OUT.moepack for OUT.so; for OUT.TARGET.so, as a compile for several targets writes it,
/// also OUT.moepack and the pack of the layout family. TARGET may contain dots.
static std::string packOf(llvm::StringRef library) {
  library.consume_back(".so");
  std::string own = (library + ".moepack").str();
  if (llvm::sys::fs::exists(own))
    return own;
  constexpr const char *kFamilyPack = LLVM_HOST_TRIPLE[0] == 'a' ? ".arm64.moepack" : ".x86.moepack";
  llvm::StringRef name = llvm::sys::path::filename(library), folder = library.drop_back(name.size());
  for (size_t dot = name.rfind('.'); dot != llvm::StringRef::npos && dot > 0; dot = name.rfind('.', dot))
    for (const char *suffix : {".moepack", kFamilyPack})
      if (std::string path = (folder + name.take_front(dot) + suffix).str(); llvm::sys::fs::exists(path))
        return path;
  return own;
}

/// A message of the library with a field of its options named as the flag that it is here.
static std::string asFlag(llvm::StringRef message) {
  if (!message.consume_front("options."))
    return message.str();
  auto [name, rest] = message.split(' ');
  std::string flag = "--" + name.str();
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag + " " + rest.str();
}

llvm::Expected<LoadedModel> LoadedModel::open(const std::string &library, std::string pack, uint32_t threads,
                                              uint32_t expertsUsed) {
  LoadedModel loaded;
  loaded.path = library;
  // Mapping a library that was cut short ends in a bus error; the section headers stand at the end of the file.
  auto bytes = readTextFile(library, uint64_t(1) << 31);
  if (!bytes)
    return bytes.takeError();
  if (auto report = sectionText(*bytes, library, kReportSection); !report)
    return fault("'" + library + "' is no compiled model: " + llvm::toString(report.takeError()));
  llvm::SmallString<256> absolute(library);
  if (llvm::sys::fs::make_absolute(absolute))
    return fault("cannot find the folder of '" + library + "'");
  void *handle = dlopen(absolute.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return fault(llvm::Twine("cannot load '") + library + "': " + dlerror() +
                 "; evaluation needs a build for this machine (--target host)");
  auto getApi = reinterpret_cast<const moert_api *(*)(uint32_t)>(dlsym(handle, "moert_get_api"));
  loaded.api = getApi ? getApi(MOERT_API_VERSION) : nullptr;
  if (!loaded.api)
    return fault("'" + library + "' is no compiled model of API version " + llvm::Twine(MOERT_API_VERSION));
  if (pack.empty())
    pack = packOf(library);
  moert_open_options options{};
  options.struct_bytes = sizeof options;
  options.pack_path = pack.c_str();
  options.threads = threads;
  options.experts_used = expertsUsed;
  moert_error error{};
  if (loaded.api->open(&options, &loaded.model, &error) != MOERT_STATUS_OK ||
      loaded.api->session_create(loaded.model, &loaded.session, &error) != MOERT_STATUS_OK ||
      loaded.api->model_info(loaded.model, &loaded.info, &error) != MOERT_STATUS_OK)
    return fault("'" + library + "': " + asFlag(error.message));
  return loaded;
}

LoadedModel::LoadedModel(LoadedModel &&other) noexcept
    : path(std::move(other.path)), api(other.api), model(std::exchange(other.model, nullptr)),
      session(std::exchange(other.session, nullptr)), info(other.info) {}

LoadedModel::~LoadedModel() {
  if (session)
    api->session_destroy(session);
  if (model)
    api->close(model);
}

llvm::Expected<std::vector<int32_t>> LoadedModel::tokenize(llvm::StringRef text) const {
  moert_error error{};
  size_t count = 0;
  std::vector<int32_t> ids;
  // The first call says how many there are.
  for (int round = 0; round < 2; ++round) {
    ids.resize(count);
    if (api->tokenize(model, text.data(), text.size(), MOERT_TOKENIZE_ADD_SPECIAL, ids.data(), ids.size(), &count,
                      &error) != MOERT_STATUS_OK)
      return fault("'" + path + "': " + error.message);
  }
  return ids;
}

llvm::Error LoadedModel::run(llvm::ArrayRef<int32_t> ids,
                             std::function<void(uint64_t, llvm::ArrayRef<float>)> onLogits) {
  moert_error error{};
  auto callback = [](void *user, uint64_t position, const float *logits, uint32_t vocabSize) -> int32_t {
    (*static_cast<decltype(onLogits) *>(user))(position, llvm::ArrayRef(logits, vocabSize));
    return 0;
  };
  if (api->session_reset(session, &error) != MOERT_STATUS_OK ||
      api->prefill(session, ids.data(), ids.size(), 0, callback, &onLogits, &error) != MOERT_STATUS_OK)
    return fault("'" + path + "': " + error.message);
  return llvm::Error::success();
}

} // namespace moec
