// SPDX-License-Identifier: Apache-2.0
// A file beside the spool says that SQLite reported damage while the gateway ran. The integrity
// check of the next start does not find all such damage, so the note makes it recover the spool
// all the same. Decision 0012.
#pragma once

#include <string>

namespace s5066::gateways {

/// Writes the note beside the database file `spool`. If the disk does not take it, the next start
/// goes by its integrity check alone.
void note_damage(const std::string& spool, const std::string& reason);

/// Returns the reason in the note, or an empty text if there is no note.
std::string noted_damage(const std::string& spool);

/// Removes the note, because the spool has been recovered.
void forget_damage(const std::string& spool);

}  // namespace s5066::gateways
