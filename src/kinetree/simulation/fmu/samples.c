/* A controller in discrete time: it measures at intervals, decides, and its forces are held until the next ones arrive. */

#define SAME 1e-9 /* part of a period within which two instants are the same */

typedef struct {
    double begin, counted_until;
    long count, arrived; /* samples taken, and those whose forces act */
    int has_memory, has_before;
    double memory[MEMORY + 1], before_q[NQ + 1], before_v[NV + 1], impulse[DRIVEN + 1];
    double waiting[QUEUE][DRIVEN + 1];
} Samples;

static void begin_samples(Samples *s, double t)
{
    memset(s, 0, sizeof *s);
    s->begin = s->counted_until = t;
}

static double next_sample(const Samples *s)
{
    const double look = s->begin + s->count * PERIOD, arrival = s->begin + s->arrived * PERIOD + DELAY;
    return look < arrival ? look : arrival;
}

static int sample_is_due(const Samples *s, double t)
{
    return next_sample(s) <= t + SAME * PERIOD;
}

/* What encoders and sensors say of a state. */
static void measure(Samples *s, const double *state, double *q, double *v)
{
    int k;
    memcpy(q, state, NQ * sizeof(double));
    memcpy(v, state + NQ, NV * sizeof(double));
    for (k = 0; k < ENCODERS; ++k) q[encoder_place[k]] = rint(q[encoder_place[k]] / encoder_length[k]) * encoder_length[k];
    if (DIFFERENCES) {
        memset(v, 0, NV * sizeof(double));
        if (s->has_before) {
            moved_from(s->before_q, q, v);
            for (k = 0; k < NV; ++k) v[k] /= PERIOD;
        }
    }
    if (s->has_before)
        for (k = 0; k < NV; ++k) v[k] = FILTER * s->before_v[k] + (1.0 - FILTER) * v[k];
    memcpy(s->before_q, q, NQ * sizeof(double));
    memcpy(s->before_v, v, NV * sizeof(double));
    s->has_before = 1;
}

/* The forces of a sample, of the freedoms with motors. */
static void decide(Samples *s, double t, const double *state, const double *numbers, double *force)
{
    double q[NQ + 1], v[NV + 1], average[NV + 1], decided[NV + MEMORY + 1];
    int k;
    measure(s, state, q, v);
    if (!s->has_memory) first_memory(q, v, s->memory);
    s->has_memory = 1;
    memset(average, 0, sizeof average);
    if (s->count)
        for (k = 0; k < DRIVEN; ++k) average[driven_place[k]] = s->impulse[k] / PERIOD;
    memset(s->impulse, 0, sizeof s->impulse);
    decision(&t, q, v, numbers, s->memory, average, decided);
    memcpy(s->memory, decided + NV, MEMORY * sizeof(double));
    for (k = 0; k < DRIVEN; ++k) {
        double x = decided[driven_place[k]];
        const double limit = largest_force[k], level = force_level[k];
        x = x > limit ? limit : x < -limit ? -limit : x;
        force[k] = level > 0.0 ? rint(x / level) * level : x;
    }
}

/* Do all that is due at a time; the held forces are among the states. */
static void take_samples(Samples *s, double t, double *state, const double *numbers)
{
    const double soon = t + SAME * PERIOD;
    double *held = state + HELD;
    int k;
    for (k = 0; k < DRIVEN; ++k) s->impulse[k] += (t - s->counted_until) * held[k];
    s->counted_until = t;
    while (next_sample(s) <= soon) {
        const double look = s->begin + s->count * PERIOD;
        if (look <= soon) {
            decide(s, look, state, numbers, s->waiting[s->count % QUEUE]);
            ++s->count;
        }
        if (s->arrived < s->count && s->begin + s->arrived * PERIOD + DELAY <= soon) {
            memcpy(held, s->waiting[s->arrived % QUEUE], DRIVEN * sizeof(double));
            ++s->arrived;
        }
    }
}
