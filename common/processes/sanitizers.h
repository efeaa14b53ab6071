/* SPDX-License-Identifier: BSD-3-Clause */
/* sanitizers.h - HAS_ADDRESS_SANITIZER: is its shadow memory there, which needs exceptions? */
#pragma once

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define HAS_ADDRESS_SANITIZER 1
#else
#define HAS_ADDRESS_SANITIZER 0
#endif
