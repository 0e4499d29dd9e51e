/* Compares ${prefix}.c with results that kinetree computed; returns 1 if they disagree.
   cc -std=c99 -O2 ${prefix}.c ${prefix}_test.c$libm -o ${prefix}_test && ./${prefix}_test */
#include "${prefix}.h"

#include <stdio.h>

static int failures = 0;

/* The largest error relative to the largest expected number; NaN counts as wrong. */
static double error_of(const $real *result, const double *expected, int size)
{
    double largest = 0.0, worst = 0.0;
    int k;
    for (k = 0; k < size; ++k) {
        const double e = expected[k] < 0.0 ? -expected[k] : expected[k];
        const double difference = (double)result[k] - expected[k];
        const double d = difference < 0.0 ? -difference : difference;
        if (e > largest) largest = e;
        if (!(d <= worst)) worst = d;
        if (!(d <= 1e300)) return 1e300;
    }
    return largest > 0.0 ? worst / largest : worst;
}

static void report(const char *name, double error, double allowed)
{
    const int good = error <= allowed;
    printf("%-8s %s: largest error %.2e, allowed %.2e\n", good ? "ok" : "WRONG", name, error, allowed);
    if (!good) failures = 1;
}
