/* No controller in discrete time. */

typedef struct {
    char none;
} Samples;

static void begin_samples(Samples *s, double t) { (void)t; s->none = 0; }
static double next_sample(const Samples *s) { (void)s; return HUGE_VAL; }
static int sample_is_due(const Samples *s, double t) { (void)s; (void)t; return 0; }
static void take_samples(Samples *s, double t, double *state, const double *numbers)
{
    (void)s; (void)t; (void)state; (void)numbers;
}
