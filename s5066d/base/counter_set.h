// SPDX-License-Identifier: Apache-2.0
// Counters of a component: an enumeration, a table with the name, unit and meaning of each, and the
// values. Operators read them with the request `counters`, and simulations assert on them.
//
//   enum class InboxCounter : std::uint8_t { files, refused, count };      // in the header
//   const CounterTable<InboxCounter>& counter_table(InboxCounter);
//
//   constexpr CounterTable<InboxCounter> kTable({                          // in the source
//       {InboxCounter::files, "inbox_files", "files", "files stored"},
//       {InboxCounter::refused, "inbox_refused", "files", "files refused, the disk is full"},
//   });
//   const CounterTable<InboxCounter>& counter_table(InboxCounter) { return kTable; }
//
// A class has a CounterSet<InboxCounter> of its own, or is given one. The process lists all its
// sets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace s5066 {

/// A counter only rises while the process runs. A gauge also falls.
enum class CounterKind : std::uint8_t { counter, gauge };

template <typename Enum>
struct CounterInfo {
  Enum counter{};
  std::string_view name;  // name in snake case, unique among all programs
  std::string_view unit;  // plural of what is counted
  std::string_view help;
  CounterKind kind = CounterKind::counter;
};

/// Returns true for a lower-case letter followed by lower-case letters, digits and single
/// underscores.
constexpr bool is_snake_case(std::string_view name) {
  char before = '_';
  for (const char c : name) {
    const bool letter = c >= 'a' && c <= 'z';
    const bool digit = c >= '0' && c <= '9' && before != '_';
    if (!letter && !digit && (c != '_' || before == '_')) return false;
    before = c;
  }
  return before != '_' && !name.empty();
}

/// One row for each enumerator before `count`, in their order. A table with a missing or incomplete
/// row, or with a name twice, does not compile.
template <typename Enum>
class CounterTable {
 public:
  static constexpr std::size_t kRows = static_cast<std::size_t>(Enum::count);

  consteval explicit CounterTable(const CounterInfo<Enum> (&rows)[kRows]) {
    for (std::size_t i = 0; i < kRows; ++i) {
      rows_[i] = rows[i];
      if (rows[i].counter != static_cast<Enum>(i))
        throw "the rows are not in the order of the enum";
      if (!is_snake_case(rows[i].name)) throw "a name is missing or not in snake case";
      if (rows[i].unit.empty() || rows[i].help.empty()) throw "a unit or a help text is missing";
      for (std::size_t k = 0; k < i; ++k) {
        if (rows[k].name == rows[i].name) throw "two counters have the same name";
      }
    }
  }

  constexpr auto begin() const { return rows_.begin(); }
  constexpr auto end() const { return rows_.end(); }

 private:
  std::array<CounterInfo<Enum>, kRows> rows_{};
};

/// Tells the instances of a counter apart, for example carrier=udp. The number of values that a
/// label may have is bounded.
struct CounterLabel {
  std::string name;
  std::string value;
  friend bool operator==(const CounterLabel&, const CounterLabel&) = default;
};

/// One line of the answer to `counters`.
struct CounterRow {
  std::string_view name;
  std::string_view unit;
  std::string_view help;
  CounterKind kind = CounterKind::counter;
  std::vector<CounterLabel> labels;
  std::uint64_t value = 0;
};
using CounterRows = std::vector<CounterRow>;

/// Returns the name with its labels, such as carrier_pdus_sent{carrier=udp}.
std::string full_name(const CounterRow& row);

template <typename Enum>
class CounterSet {
 public:
  void add(Enum counter, std::uint64_t n = 1) { values_[index(counter)] += n; }
  /// Adds all counts of a set that ends, so that the counts of the process do not fall.
  void add(const CounterSet& other) {
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] += other.values_[i];
  }
  /// For gauges, and for counts that another object keeps.
  void set(Enum counter, std::uint64_t value) { values_[index(counter)] = value; }
  std::uint64_t operator[](Enum counter) const { return values_[index(counter)]; }

  /// Appends one row for each counter.
  void list(CounterRows& rows, const std::vector<CounterLabel>& labels = {}) const {
    for (const CounterInfo<Enum>& info : counter_table(Enum{})) {
      rows.push_back({info.name, info.unit, info.help, info.kind, labels, (*this)[info.counter]});
    }
  }

 private:
  static std::size_t index(Enum counter) { return static_cast<std::size_t>(counter); }
  std::array<std::uint64_t, CounterTable<Enum>::kRows> values_{};
};

}  // namespace s5066
