/* One instance of the model: its numbers, how they are read and written by reference, and how it moves.

   References count variables: the time, the states, their rates, the numbers (inputs and parameters), the results. */

#define FIRST_STATE 1
#define FIRST_RATE (FIRST_STATE + STATES)
#define FIRST_NUMBER (FIRST_RATE + STATES)
#define FIRST_RESULT (FIRST_NUMBER + NUMBERS)
#define REFERENCES (FIRST_RESULT + RESULTS)

#define KINK_MARGIN 5e-10 /* part of a step within which a kink of forces counts as at its end */
#define ROUNDING 1e-9     /* part of a step that is only rounding of the time */

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

typedef struct {
    double time;
    double state[STATES + 1];
    double numbers[NUMBERS + 1];
    int is_running; /* initial values can no longer be written */
    Samples samples;
} Snapshot;

typedef struct {
    Snapshot now;
    double rates[STATES + 1];
    double results[RESULTS + 1];
    int rates_are_known, results_are_known;
    char said[256];
} Model;

static void forget(Model *m)
{
    m->rates_are_known = m->results_are_known = 0;
}

static void put_at_start(Model *m)
{
    int k;
    m->now.time = 0.0;
    m->now.is_running = 0;
    for (k = 0; k < STATES; ++k) m->now.state[k] = start_state[k];
    for (k = 0; k < NUMBERS; ++k) m->now.numbers[k] = start_numbers[k];
    m->said[0] = 0;
    forget(m);
}

static int are_finite(const double *x, int count)
{
    int k;
    for (k = 0; k < count; ++k)
        if (!(fabs(x[k]) < HUGE_VAL)) return 0;
    return 1;
}

/* Make quaternions unit, and close loops that are slightly open. */
static int settle(Model *m)
{
    double settled[STATES + 2];
    settled_state(m->now.state, m->now.numbers, settled);
    if (!are_finite(settled, STATES + 1) || settled[STATES] > WIDEST_GAP * WIDEST_GAP) {
        snprintf(m->said, sizeof m->said, "the loops cannot be closed near the given start: set all positions to a closed configuration");
        return 0;
    }
    memcpy(m->now.state, settled, STATES * sizeof(double));
    m->now.is_running = 1;
    begin_samples(&m->now.samples, m->now.time);
    forget(m);
    return 1;
}

static int know_rates(Model *m)
{
    double found[STATES + 1];
    int way;
    if (m->rates_are_known) return 1;
    for (way = 0; way < WAYS; ++way) {
        found[STATES] = 1.0;
        rates_by[way](&m->now.time, m->now.state, m->now.numbers, found);
        if (found[STATES] >= 1.0 && are_finite(found, STATES)) {
            memcpy(m->rates, found, STATES * sizeof(double));
            return m->rates_are_known = 1;
        }
    }
    snprintf(m->said, sizeof m->said, "the rates cannot be computed at t = %g s: %s", m->now.time,
             found[STATES] >= 1.0 ? "they are not finite" : "the loops are near a singular configuration");
    return 0;
}

static void know_results(Model *m)
{
    if (!m->results_are_known) results_of(&m->now.time, m->now.state, m->now.numbers, m->results);
    m->results_are_known = 1;
}

/* The last results pass through zero where a force changes. */
static void read_switches(Model *m, double *values)
{
    know_results(m);
    memcpy(values, m->results + RESULTS - SWITCHES, SWITCHES * sizeof(double));
}

static int read_value(Model *m, unsigned reference, double *value)
{
    if (reference == 0) *value = m->now.time;
    else if (reference < FIRST_RATE) *value = m->now.state[reference - FIRST_STATE];
    else if (reference < FIRST_NUMBER) {
        if (!know_rates(m)) return 0;
        *value = m->rates[reference - FIRST_RATE];
    } else if (reference < FIRST_RESULT) *value = m->now.numbers[reference - FIRST_NUMBER];
    else if (reference < REFERENCES) {
        know_results(m);
        *value = m->results[reference - FIRST_RESULT];
    } else {
        snprintf(m->said, sizeof m->said, "there is no variable with the reference %u", reference);
        return 0;
    }
    return 1;
}

static int write_value(Model *m, unsigned reference, double value)
{
    if (reference >= FIRST_STATE && reference < FIRST_RATE && !m->now.is_running)
        m->now.state[reference - FIRST_STATE] = value;
    else if (reference >= FIRST_NUMBER && reference < FIRST_RESULT)
        m->now.numbers[reference - FIRST_NUMBER] = value;
    else {
        snprintf(m->said, sizeof m->said, "the variable with the reference %u cannot be written%s", reference,
                 reference < FIRST_RATE ? " once the model is running" : "");
        return 0;
    }
    forget(m);
    return 1;
}

/* The first time after t at which a force has a kink or jumps. */
static double next_kink(double t)
{
    int k;
    for (k = 0; k < KINKS; ++k)
        if (kinks[k] > t) return kinks[k];
    return HUGE_VAL;
}

/* One step of the integrator. */
static int take_step(Model *m, double t, double h)
{
    double begun[STATES + 1], found[STATES + 1];
    int way;
    memcpy(begun, m->now.state, STATES * sizeof(double));
    for (way = 0; way < WAYS; ++way) {
        begun[STATES] = found[STATES] = HUGE_VAL;
        steps_by[way](t, h, begun, m->now.numbers, found);
        if (are_finite(found, STATES) && found[STATES] >= 1.0) {
            memcpy(m->now.state, found, STATES * sizeof(double));
            return 1;
        }
    }
    snprintf(m->said, sizeof m->said, "the motion cannot be followed beyond t = %g s: %s", t,
             are_finite(found, STATES) ? "the loops cannot be closed after a step, or are near a singular configuration"
                                       : "the state is no longer finite; a smaller internal step may help");
    return 0;
}

/* A step, in parts if forces have kinks within it. */
static int take_parts(Model *m, double t, double h)
{
    const double end = t + h, same = KINK_MARGIN * h;
    double kink = next_kink(t + same);
    while (kink < end - same) {
        if (!take_step(m, t, kink - t)) return 0;
        t = kink;
        kink = next_kink(t + same);
    }
    return take_step(m, t, end - t);
}

/* Do what is due now in discrete time; return whether there was something. */
static int act(Model *m)
{
    if (!sample_is_due(&m->now.samples, m->now.time)) return 0;
    take_samples(&m->now.samples, m->now.time, m->now.state, m->now.numbers);
    forget(m);
    return 1;
}

/* The next time at which an integrator outside has to stop. */
static double next_event(const Model *m)
{
    const double kink = next_kink(m->now.time), sample = next_sample(&m->now.samples);
    return kink < sample ? kink : sample;
}

/* Steps of equal length to a time; the last one may be shorter. */
static int take_steps(Model *m, double until)
{
    const double begin = m->now.time;
    const long count = (long)floor((until - begin) / STEP + ROUNDING);
    long k;
    for (k = 0; k < count; ++k) {
        m->now.time = begin + k * STEP;
        if (!take_parts(m, m->now.time, STEP)) return 0;
    }
    m->now.time = begin + count * STEP;
    if (until - m->now.time > ROUNDING * STEP && !take_parts(m, m->now.time, until - m->now.time)) return 0;
    m->now.time = until;
    return 1;
}

/* The motion to a time, with a stop wherever there is something to do. */
static int advance(Model *m, double until)
{
    forget(m);
    if (m->now.time < SPAN_BEGIN - ROUNDING || until > SPAN_END + ROUNDING) {
        snprintf(m->said, sizeof m->said, "the model's trajectories are known from t = %g s to %g s only", SPAN_BEGIN, SPAN_END);
        return 0;
    }
    for (;;) {
        double stop;
        act(m);
        stop = next_sample(&m->now.samples);
        if (!(stop < until - ROUNDING * STEP)) return take_steps(m, until);
        if (!take_steps(m, stop)) return 0;
    }
}
