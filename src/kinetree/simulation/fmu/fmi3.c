/* The functions of FMI 3.0, for co-simulation and model exchange. */

#include <stdint.h>
#include <stdbool.h>

typedef void *fmi3Instance;
typedef void *fmi3InstanceEnvironment;
typedef void *fmi3FMUState;
typedef uint32_t fmi3ValueReference;
typedef double fmi3Float64;
typedef bool fmi3Boolean;
typedef char fmi3Char;
typedef const fmi3Char *fmi3String;
typedef uint8_t fmi3Byte;
typedef const fmi3Byte *fmi3Binary;
typedef bool fmi3Clock;
typedef enum { fmi3OK, fmi3Warning, fmi3Discard, fmi3Error, fmi3Fatal } fmi3Status;
typedef int fmi3IntervalQualifier;
typedef int fmi3DependencyKind;
typedef void (*fmi3LogMessageCallback)(fmi3InstanceEnvironment, fmi3Status, fmi3String, fmi3String);
typedef void (*fmi3IntermediateUpdateCallback)(fmi3InstanceEnvironment, fmi3Float64, fmi3Boolean, fmi3Boolean,
                                               fmi3Boolean, fmi3Boolean, fmi3Boolean, fmi3Boolean *, fmi3Float64 *);

typedef struct {
    Model model;
    fmi3InstanceEnvironment environment;
    fmi3LogMessageCallback log;
} Instance;

static fmi3Status failed(Instance *own, const char *what)
{
    if (own->log) own->log(own->environment, fmi3Error, "logStatusError", what);
    return fmi3Error;
}

static fmi3Status judged(Instance *own, int is_fine)
{
    return is_fine ? fmi3OK : failed(own, own->model.said);
}

static fmi3Instance made(fmi3String token, fmi3InstanceEnvironment environment, fmi3LogMessageCallback log)
{
    Instance *own;
    if (!token || strcmp(token, IDENTITY)) {
        if (log) log(environment, fmi3Error, "logStatusError", "the token belongs to another model than this binary");
        return NULL;
    }
    own = calloc(1, sizeof *own);
    if (!own) return NULL;
    own->environment = environment;
    own->log = log;
    put_at_start(&own->model);
    return own;
}

EXPORT const char *fmi3GetVersion(void) { return "3.0"; }

EXPORT fmi3Status fmi3SetDebugLogging(fmi3Instance c, fmi3Boolean on, size_t n, const fmi3String categories[])
{
    (void)c; (void)on; (void)n; (void)categories;
    return fmi3OK;
}

EXPORT fmi3Instance fmi3InstantiateModelExchange(fmi3String name, fmi3String token, fmi3String resources,
                                                 fmi3Boolean visible, fmi3Boolean logging,
                                                 fmi3InstanceEnvironment environment, fmi3LogMessageCallback log)
{
    (void)name; (void)resources; (void)visible; (void)logging;
    return made(token, environment, log);
}

EXPORT fmi3Instance fmi3InstantiateCoSimulation(fmi3String name, fmi3String token, fmi3String resources,
                                                fmi3Boolean visible, fmi3Boolean logging, fmi3Boolean events,
                                                fmi3Boolean early, const fmi3ValueReference intermediate[], size_t n,
                                                fmi3InstanceEnvironment environment, fmi3LogMessageCallback log,
                                                fmi3IntermediateUpdateCallback update)
{
    (void)name; (void)resources; (void)visible; (void)logging; (void)events; (void)early; (void)intermediate;
    (void)n; (void)update;
    return made(token, environment, log);
}

EXPORT fmi3Instance fmi3InstantiateScheduledExecution(fmi3String name, fmi3String token, fmi3String resources,
                                                      fmi3Boolean visible, fmi3Boolean logging,
                                                      fmi3InstanceEnvironment environment, fmi3LogMessageCallback log,
                                                      void *clock, void *lock, void *unlock)
{
    (void)name; (void)token; (void)resources; (void)visible; (void)logging; (void)clock; (void)lock; (void)unlock;
    if (log) log(environment, fmi3Error, "logStatusError", "scheduled execution is not offered");
    return NULL;
}

EXPORT void fmi3FreeInstance(fmi3Instance c) { free(c); }

EXPORT fmi3Status fmi3EnterInitializationMode(fmi3Instance c, fmi3Boolean has_tolerance, fmi3Float64 tolerance,
                                              fmi3Float64 start, fmi3Boolean has_stop, fmi3Float64 stop)
{
    (void)has_tolerance; (void)tolerance; (void)has_stop; (void)stop;
    ((Instance *)c)->model.now.time = start;
    return fmi3OK;
}

EXPORT fmi3Status fmi3ExitInitializationMode(fmi3Instance c) { return judged(c, settle(&((Instance *)c)->model)); }
EXPORT fmi3Status fmi3Terminate(fmi3Instance c) { (void)c; return fmi3OK; }
EXPORT fmi3Status fmi3EnterConfigurationMode(fmi3Instance c) { (void)c; return fmi3OK; }
EXPORT fmi3Status fmi3ExitConfigurationMode(fmi3Instance c) { (void)c; return fmi3OK; }

EXPORT fmi3Status fmi3Reset(fmi3Instance c)
{
    put_at_start(&((Instance *)c)->model);
    return fmi3OK;
}

EXPORT fmi3Status fmi3GetFloat64(fmi3Instance c, const fmi3ValueReference r[], size_t n, fmi3Float64 value[], size_t m)
{
    Instance *own = c;
    size_t k;
    if (m != n) return failed(own, "each variable is one number");
    for (k = 0; k < n; ++k)
        if (!read_value(&own->model, r[k], &value[k])) return failed(own, own->model.said);
    return fmi3OK;
}

EXPORT fmi3Status fmi3SetFloat64(fmi3Instance c, const fmi3ValueReference r[], size_t n, const fmi3Float64 value[],
                                 size_t m)
{
    Instance *own = c;
    size_t k;
    if (m != n) return failed(own, "each variable is one number");
    for (k = 0; k < n; ++k)
        if (!write_value(&own->model, r[k], value[k])) return failed(own, own->model.said);
    return fmi3OK;
}

#define NO_VALUES(kind, type) \
    EXPORT fmi3Status fmi3Get##kind(fmi3Instance c, const fmi3ValueReference r[], size_t n, type value[], size_t m) \
    { (void)r; (void)value; (void)m; return n ? failed(c, "all variables are Float64") : fmi3OK; } \
    EXPORT fmi3Status fmi3Set##kind(fmi3Instance c, const fmi3ValueReference r[], size_t n, const type value[], \
                                    size_t m) \
    { (void)r; (void)value; (void)m; return n ? failed(c, "all variables are Float64") : fmi3OK; }
NO_VALUES(Float32, float)
NO_VALUES(Int8, int8_t)
NO_VALUES(UInt8, uint8_t)
NO_VALUES(Int16, int16_t)
NO_VALUES(UInt16, uint16_t)
NO_VALUES(Int32, int32_t)
NO_VALUES(UInt32, uint32_t)
NO_VALUES(Int64, int64_t)
NO_VALUES(UInt64, uint64_t)
NO_VALUES(Boolean, fmi3Boolean)
NO_VALUES(String, fmi3String)

EXPORT fmi3Status fmi3GetBinary(fmi3Instance c, const fmi3ValueReference r[], size_t n, size_t sizes[],
                                fmi3Binary value[], size_t m)
{
    (void)r; (void)sizes; (void)value; (void)m;
    return n ? failed(c, "all variables are Float64") : fmi3OK;
}

EXPORT fmi3Status fmi3SetBinary(fmi3Instance c, const fmi3ValueReference r[], size_t n, const size_t sizes[],
                                const fmi3Binary value[], size_t m)
{
    (void)r; (void)sizes; (void)value; (void)m;
    return n ? failed(c, "all variables are Float64") : fmi3OK;
}

#define NO_CLOCKS(name, ...) \
    EXPORT fmi3Status fmi3##name(fmi3Instance c, const fmi3ValueReference r[], size_t n, __VA_ARGS__) \
    { (void)r; return n ? failed(c, "there are no clocks") : fmi3OK; }
#define x x
NO_CLOCKS(GetClock, fmi3Clock value[])
NO_CLOCKS(SetClock, const fmi3Clock value[])
NO_CLOCKS(GetIntervalDecimal, fmi3Float64 interval[], fmi3IntervalQualifier known[])
NO_CLOCKS(GetIntervalFraction, uint64_t counter[], uint64_t resolution[],
          fmi3IntervalQualifier known[])
NO_CLOCKS(GetShiftDecimal, fmi3Float64 shift[])
NO_CLOCKS(GetShiftFraction, uint64_t counter[], uint64_t resolution[])
NO_CLOCKS(SetIntervalDecimal, const fmi3Float64 interval[])
NO_CLOCKS(SetIntervalFraction, const uint64_t counter[], const uint64_t resolution[])
NO_CLOCKS(SetShiftDecimal, const fmi3Float64 shift[])
NO_CLOCKS(SetShiftFraction, const uint64_t counter[], const uint64_t resolution[])

EXPORT fmi3Status fmi3GetNumberOfVariableDependencies(fmi3Instance c, fmi3ValueReference r, size_t *n)
{
    (void)r; (void)n;
    return failed(c, "dependencies are those of the description");
}

EXPORT fmi3Status fmi3GetVariableDependencies(fmi3Instance c, fmi3ValueReference r, size_t of_dependent[],
                                              fmi3ValueReference independent[], size_t of_independent[],
                                              fmi3DependencyKind kinds[], size_t n)
{
    (void)r; (void)of_dependent; (void)independent; (void)of_independent; (void)kinds; (void)n;
    return failed(c, "dependencies are those of the description");
}

EXPORT fmi3Status fmi3GetFMUState(fmi3Instance c, fmi3FMUState *kept)
{
    if (!*kept) *kept = malloc(sizeof(Snapshot));
    if (!*kept) return failed(c, "no memory is left");
    memcpy(*kept, &((Instance *)c)->model.now, sizeof(Snapshot));
    return fmi3OK;
}

EXPORT fmi3Status fmi3SetFMUState(fmi3Instance c, fmi3FMUState kept)
{
    Model *m = &((Instance *)c)->model;
    memcpy(&m->now, kept, sizeof(Snapshot));
    forget(m);
    return fmi3OK;
}

EXPORT fmi3Status fmi3FreeFMUState(fmi3Instance c, fmi3FMUState *kept)
{
    (void)c;
    free(*kept);
    *kept = NULL;
    return fmi3OK;
}

EXPORT fmi3Status fmi3SerializedFMUStateSize(fmi3Instance c, fmi3FMUState kept, size_t *size)
{
    (void)c; (void)kept;
    *size = sizeof(Snapshot);
    return fmi3OK;
}

EXPORT fmi3Status fmi3SerializeFMUState(fmi3Instance c, fmi3FMUState kept, fmi3Byte bytes[], size_t size)
{
    if (size < sizeof(Snapshot)) return failed(c, "the place for the state is too small");
    memcpy(bytes, kept, sizeof(Snapshot));
    return fmi3OK;
}

EXPORT fmi3Status fmi3DeserializeFMUState(fmi3Instance c, const fmi3Byte bytes[], size_t size, fmi3FMUState *kept)
{
    if (size != sizeof(Snapshot)) return failed(c, "these bytes are not a state of this model");
    if (!*kept) *kept = malloc(sizeof(Snapshot));
    if (!*kept) return failed(c, "no memory is left");
    memcpy(*kept, bytes, size);
    return fmi3OK;
}

#define NO_DERIVATIVE(name) \
    EXPORT fmi3Status fmi3##name(fmi3Instance c, const fmi3ValueReference unknown[], size_t n, \
                                 const fmi3ValueReference known[], size_t k, const fmi3Float64 seed[], size_t s, \
                                 fmi3Float64 value[], size_t m) \
    { (void)unknown; (void)n; (void)known; (void)k; (void)seed; (void)s; (void)value; (void)m; \
      return failed(c, "derivatives of variables are not offered"); }
NO_DERIVATIVE(GetDirectionalDerivative)
NO_DERIVATIVE(GetAdjointDerivative)

/* Model exchange */

EXPORT fmi3Status fmi3EnterEventMode(fmi3Instance c) { (void)c; return fmi3OK; }
EXPORT fmi3Status fmi3EnterContinuousTimeMode(fmi3Instance c) { (void)c; return fmi3OK; }
EXPORT fmi3Status fmi3EvaluateDiscreteStates(fmi3Instance c) { (void)c; return fmi3OK; }

EXPORT fmi3Status fmi3UpdateDiscreteStates(fmi3Instance c, fmi3Boolean *again, fmi3Boolean *terminate,
                                           fmi3Boolean *nominals, fmi3Boolean *values, fmi3Boolean *has_next,
                                           fmi3Float64 *next)
{
    Model *m = &((Instance *)c)->model;
    *again = *terminate = *nominals = false;
    *values = act(m);
    *next = next_event(m);
    *has_next = *next < HUGE_VAL;
    if (!*has_next) *next = 0.0;
    return fmi3OK;
}

EXPORT fmi3Status fmi3CompletedIntegratorStep(fmi3Instance c, fmi3Boolean no_return, fmi3Boolean *enter_event,
                                              fmi3Boolean *terminate)
{
    (void)no_return;
    *enter_event = false;
    *terminate = ((Instance *)c)->model.now.time > SPAN_END + ROUNDING;
    return fmi3OK;
}

EXPORT fmi3Status fmi3SetTime(fmi3Instance c, fmi3Float64 time)
{
    ((Instance *)c)->model.now.time = time;
    forget(&((Instance *)c)->model);
    return fmi3OK;
}

EXPORT fmi3Status fmi3SetContinuousStates(fmi3Instance c, const fmi3Float64 x[], size_t n)
{
    if (n != STATES) return failed(c, "the number of states is another one");
    memcpy(((Instance *)c)->model.now.state, x, n * sizeof(double));
    forget(&((Instance *)c)->model);
    return fmi3OK;
}

EXPORT fmi3Status fmi3GetContinuousStates(fmi3Instance c, fmi3Float64 x[], size_t n)
{
    if (n != STATES) return failed(c, "the number of states is another one");
    memcpy(x, ((Instance *)c)->model.now.state, n * sizeof(double));
    return fmi3OK;
}

EXPORT fmi3Status fmi3GetContinuousStateDerivatives(fmi3Instance c, fmi3Float64 rates[], size_t n)
{
    Instance *own = c;
    if (n != STATES) return failed(c, "the number of states is another one");
    if (!know_rates(&own->model)) return failed(c, own->model.said);
    memcpy(rates, own->model.rates, n * sizeof(double));
    return fmi3OK;
}

EXPORT fmi3Status fmi3GetNominalsOfContinuousStates(fmi3Instance c, fmi3Float64 x[], size_t n)
{
    size_t k;
    (void)c;
    for (k = 0; k < n; ++k) x[k] = 1.0;
    return fmi3OK;
}

EXPORT fmi3Status fmi3GetEventIndicators(fmi3Instance c, fmi3Float64 indicators[], size_t n)
{
    if (n != SWITCHES) return failed(c, "the number of event indicators is another one");
    read_switches(&((Instance *)c)->model, indicators);
    return fmi3OK;
}

EXPORT fmi3Status fmi3GetNumberOfEventIndicators(fmi3Instance c, size_t *n)
{
    (void)c;
    *n = SWITCHES;
    return fmi3OK;
}

EXPORT fmi3Status fmi3GetNumberOfContinuousStates(fmi3Instance c, size_t *n)
{
    (void)c;
    *n = STATES;
    return fmi3OK;
}

/* Co-simulation */

EXPORT fmi3Status fmi3EnterStepMode(fmi3Instance c) { (void)c; return fmi3OK; }

EXPORT fmi3Status fmi3GetOutputDerivatives(fmi3Instance c, const fmi3ValueReference r[], size_t n,
                                           const int32_t order[], fmi3Float64 value[], size_t m)
{
    (void)r; (void)order; (void)value; (void)m;
    return n ? failed(c, "derivatives of outputs are not offered") : fmi3OK;
}

EXPORT fmi3Status fmi3DoStep(fmi3Instance c, fmi3Float64 time, fmi3Float64 step, fmi3Boolean no_return,
                             fmi3Boolean *event, fmi3Boolean *terminate, fmi3Boolean *early, fmi3Float64 *reached)
{
    Instance *own = c;
    int is_fine;
    (void)no_return;
    own->model.now.time = time;
    is_fine = advance(&own->model, time + step);
    *event = *terminate = *early = false;
    *reached = own->model.now.time;
    return judged(own, is_fine);
}

EXPORT fmi3Status fmi3ActivateModelPartition(fmi3Instance c, fmi3ValueReference clock, fmi3Float64 time)
{
    (void)clock; (void)time;
    return failed(c, "scheduled execution is not offered");
}
