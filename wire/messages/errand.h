/* SPDX-License-Identifier: BSD-3-Clause */
/* errand.h - ErrandNews.what, and the sizes of an errand's parts */
#pragma once

enum errand_news {
    ERRAND_REFUSED = 1, /* the errand did not start; its last news */
    ERRAND_STARTED,
    ERRAND_SAID,
    ERRAND_ENDED, /* its last news */
};

enum {
    ERRAND_INPUT_MAX = 4096, /* bytes of standard input: what a pipe takes at once */
    ERRAND_WORDS_MAX = 4096, /* bytes of all arguments, with a byte for the end of each */
    ERRAND_SAYS_MAX = 65536, /* bytes of output that are passed on at once; of further output, at */
    ERRAND_LAST_MAX = 2048,  /* the errand's end, the last bytes */
};
