// SPDX-License-Identifier: Apache-2.0
/// \file
/// Empty: gives the precompiled header (Precompiled.h) a target that owns it.
