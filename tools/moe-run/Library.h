// SPDX-License-Identifier: Apache-2.0
/// \file
/// Finding and loading a compiled model.
#ifndef TOOLS_MOE_RUN_LIBRARY_H
#define TOOLS_MOE_RUN_LIBRARY_H

#include "moert/Generated.h"
#include "moert/moert.h"
#include "tools/moe-run/GuessTable.h"
#include "tools/moe-run/Message.h"
#include "tools/moe-run/Options.h"
#include "tools/moe-run/TraceFile.h"

namespace moerun {

/// Checks that the file is a whole ELF library for this machine; false after a message. For another machine the message
/// has the command that runs it under emulation.
bool checkLibrary(const Options &options);

/// Loads the library and asks for its functions; nullptr after a message. It stays loaded.
/// With `descriptor`, also the model's description is looked up.
const moert_api *loadLibrary(const char *path, const moert_model_descriptor **descriptor = nullptr);

/// A model and a session on it while they are open. The end closes them and stops watching for interrupts.
struct OpenModel {
  OpenModel() = default;
  OpenModel(const OpenModel &) = delete;
  OpenModel &operator=(const OpenModel &) = delete;
  ~OpenModel();

  /// Loads the library and opens its model, by the flags. False after a message; then `exitCode` may have changed.
  bool openModel(const Options &options, moert_error &error, int &exitCode);
  /// The same with a library that is loaded.
  bool openLoaded(const Options &options, moert_error &error, int &exitCode);
  /// With --trace: the file gets its name. False after a message.
  bool finishTrace();

  const moert_api *api = nullptr;
  moert_model *model = nullptr;
  moert_session *session = nullptr;
  /// With --json: by layer.
  GuessTable guesses;

private:
  TraceFile trace;
};

/// The pack of the model: --pack, or OUT.moepack for OUT.so, also NAME.moepack for libNAME.so. False after a message.
bool findPack(const Options &options, Array<char> &path);

/// Prints why the library refused `openOptions`, with fields of the API named as the flags that they are here. Answers
/// the exit code.
int printRefusal(const moert_api &api, const moert_error &error);

/// What the flags ask of the library. `packPath` may be null for a plan.
moert_open_options openOptions(const Options &options, const char *packPath);

} // namespace moerun
#endif
