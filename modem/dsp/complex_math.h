// SPDX-License-Identifier: Apache-2.0
// Complex products without the checks for infinities that the operators of std::complex must make.
#pragma once

#include <complex>

namespace s5066::modem::dsp {

using Complex = std::complex<float>;

inline Complex mul(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

/// Returns conj(a) x b.
inline Complex mul_conj(Complex a, Complex b) {
  return {a.real() * b.real() + a.imag() * b.imag(), a.real() * b.imag() - a.imag() * b.real()};
}

}  // namespace s5066::modem::dsp
