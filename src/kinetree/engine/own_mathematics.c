/* Sine and cosine of one angle, to about 1 ulp. The angle less the nearest multiple of pi/2 is found as a sum
   r + tail: the parts of pi/2 are so short that their products with k are exact. Two polynomials follow, exchanged
   and signed by the quadrant. Angles beyond 1.6e9 rad give NaN. */
static void NAME_sincos(double x, REAL *sine, REAL *cosine)
{
    double k, p, r, before, back, lost, tail, z, half, w, cube, s, c;
    long n;

    if (!((x < 0.0 ? -x : x) < $largest)) {
        s = (x - x) / (x - x);
        *sine = *cosine = (REAL)s;
        return;
    }
    k = x * $two_over_pi;
    n = (long)(k + (k < 0.0 ? -0.5 : 0.5));
    r = x;
    tail = 0.0;
    if (n != 0) {
        k = (double)n;
        before = (x - k * $p1) - k * $p2;
        p = k * $p3;
        r = before - p;
        back = r - before;
        lost = (before - (r - back)) - (p + back);
        before = r;
        p = k * $p4;
        r = before - p;
        back = r - before;
        lost += (before - (r - back)) - (p + back);
        lost -= k * $p5;
        before = r;
        r = before + lost;
        tail = (before - r) + lost;
    }
    z = r * r;
    cube = z * r;
    half = 0.5 * z;
    w = 1.0 - half;
    c = $cosine_series;
    c = w + (((1.0 - w) - half) + (z * z * c - r * tail));
    s = $sine_series;
    s = r - ((z * (0.5 * tail - cube * s) - tail) + cube * $sixth);
    switch ((unsigned long)n & 3ul) {
    case 0ul: *sine = (REAL)s; *cosine = (REAL)c; break;
    case 1ul: *sine = (REAL)c; *cosine = (REAL)-s; break;
    case 2ul: *sine = (REAL)-s; *cosine = (REAL)-c; break;
    default: *sine = (REAL)-c; *cosine = (REAL)s; break;
    }
}

/* ---- */

/* Square root: scaled to between 1 and 4, five steps of Newton's, and one more with the exact remainder. */
static REAL NAME_sqrt(double x)
{
    double scale = 1.0, y, high, low;
    int step;

    if (!(x > 0.0))
        return (REAL)(x < 0.0 ? (x - x) / (x - x) : x);
    if (x > 1.7976931348623157e308)
        return (REAL)x;
    for (; x < 5.421010862427522e-20; scale *= 2.3283064365386963e-10) x *= 18446744073709551616.0;
    for (; x > 18446744073709551616.0; scale *= 4294967296.0) x *= 5.421010862427522e-20;
    for (; x < 1.0; scale *= 0.5) x *= 4.0;
    for (; x >= 4.0; scale *= 2.0) x *= 0.25;
    y = 0.5 * (1.0 + x);
    for (step = 0; step < 5; ++step) y = 0.5 * (y + x / y);
    high = y * 134217729.0;
    high = high - (high - y);
    low = y - high;
    y += (((x - high * high) - 2.0 * high * low) - low * low) / (2.0 * y);
    return (REAL)(y * scale);
}

/* ---- */

static REAL NAME_fabs(REAL x)
{
    return x <= 0 ? 0 - x : x;
}

/* ---- */

/* The angle of the point (x, y), to a few ulp, zeros and infinities as in C99. */
static REAL NAME_atan2(double y, double x)
{
    const int below = y < 0.0 || (!(y > 0.0) && 1.0 / y < 0.0), left = x < 0.0 || (!(x > 0.0) && 1.0 / x < 0.0);
    const double a = below ? -y : y, b = left ? -x : x;
    const int steep = a > b;
    const double large = steep ? a : b, little = steep ? b : a;
    double t, u, z, angle = 0.0, rest = 0.0;

    if (!(large >= little))
        return (REAL)(x + y);
    t = !(large > 0.0) ? 0.0 : !(little < large) ? 1.0 : little / large;
    u = t;
    if (t > $tan_eighth) {
        u = (t - 1.0) / (t + 1.0);
        angle = $quarter_turn_half;
        rest = $quarter_rest_half;
    }
    z = u * u;
    rest += u * z * $arctangent_series;
    if (steep) {
        angle = $quarter_turn - angle;
        rest = $quarter_rest - rest;
        u = -u;
    }
    if (left) {
        angle = $half_turn - angle;
        rest = $half_rest - rest;
        u = -u;
    }
    angle += u + rest;
    return (REAL)(below ? -angle : angle);
}
