// SPDX-License-Identifier: Apache-2.0
/// \file
/// --chat: messages in the chat format of the checkpoint.
#ifndef TOOLS_MOE_RUN_CHAT_H
#define TOOLS_MOE_RUN_CHAT_H

#include "moert/moert.h"
#include "tools/moe-run/Message.h"
#include "tools/moe-run/Options.h"

namespace moerun {

/// What the flags ask of the chat format.
moert_chat_options chatOptions(const Options &options);

/// The ids of `messages`, with an answer opened; false after a message.
bool chatIds(const moert_api &api, const moert_model *model, const Options &options, const moert_message *messages,
             size_t numMessages, Array<int32_t> &ids);

/// The sampler of the flags, with the checkpoint's values where none is given.
moert_sampler_options samplerOf(const Options &options, const moert_model_info &info);

/// A conversation: lines of stdin are the user's messages. Returns the exit code.
int converse(const Options &options);

} // namespace moerun
#endif
