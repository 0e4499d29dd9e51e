/* The functions of FMI 2.0, for co-simulation and model exchange. */

typedef void *fmi2Component;
typedef void *fmi2ComponentEnvironment;
typedef void *fmi2FMUstate;
typedef unsigned int fmi2ValueReference;
typedef double fmi2Real;
typedef int fmi2Integer;
typedef int fmi2Boolean;
typedef char fmi2Char;
typedef const fmi2Char *fmi2String;
typedef char fmi2Byte;
typedef enum { fmi2OK, fmi2Warning, fmi2Discard, fmi2Error, fmi2Fatal, fmi2Pending } fmi2Status;
typedef enum { fmi2ModelExchange, fmi2CoSimulation } fmi2Type;
typedef enum { fmi2DoStepStatus, fmi2PendingStatus, fmi2LastSuccessfulTime, fmi2Terminated } fmi2StatusKind;
typedef struct {
    void (*logger)(fmi2ComponentEnvironment, fmi2String, fmi2Status, fmi2String, fmi2String, ...);
    void *(*allocateMemory)(size_t, size_t);
    void (*freeMemory)(void *);
    void (*stepFinished)(fmi2ComponentEnvironment, fmi2Status);
    fmi2ComponentEnvironment componentEnvironment;
} fmi2CallbackFunctions;
typedef struct {
    fmi2Boolean newDiscreteStatesNeeded, terminateSimulation, nominalsOfContinuousStatesChanged;
    fmi2Boolean valuesOfContinuousStatesChanged, nextEventTimeDefined;
    fmi2Real nextEventTime;
} fmi2EventInfo;

typedef struct {
    Model model;
    fmi2CallbackFunctions call;
    char name[128];
} Instance;

static fmi2Status failed(Instance *own, const char *what)
{
    if (own->call.logger)
        own->call.logger(own->call.componentEnvironment, own->name, fmi2Error, "logStatusError", "%s", what);
    return fmi2Error;
}

static fmi2Status judged(Instance *own, int is_fine)
{
    return is_fine ? fmi2OK : failed(own, own->model.said);
}

EXPORT const char *fmi2GetTypesPlatform(void) { return "default"; }
EXPORT const char *fmi2GetVersion(void) { return "2.0"; }

EXPORT fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean on, size_t n, const fmi2String categories[])
{
    (void)c; (void)on; (void)n; (void)categories;
    return fmi2OK;
}

EXPORT fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
                                     const fmi2CallbackFunctions *call, fmi2Boolean visible, fmi2Boolean logging)
{
    Instance *own;
    (void)type; (void)resources; (void)visible; (void)logging;
    if (!guid || strcmp(guid, IDENTITY)) {
        if (call && call->logger)
            call->logger(call->componentEnvironment, name, fmi2Error, "logStatusError",
                         "the guid belongs to another model than this binary");
        return NULL;
    }
    own = calloc(1, sizeof *own);
    if (!own) return NULL;
    if (call) own->call = *call;
    snprintf(own->name, sizeof own->name, "%s", name ? name : "");
    put_at_start(&own->model);
    return own;
}

EXPORT void fmi2FreeInstance(fmi2Component c) { free(c); }

EXPORT fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean has_tolerance, fmi2Real tolerance, fmi2Real start,
                                      fmi2Boolean has_stop, fmi2Real stop)
{
    (void)has_tolerance; (void)tolerance; (void)has_stop; (void)stop;
    ((Instance *)c)->model.now.time = start;
    return fmi2OK;
}

EXPORT fmi2Status fmi2EnterInitializationMode(fmi2Component c) { (void)c; return fmi2OK; }
EXPORT fmi2Status fmi2ExitInitializationMode(fmi2Component c) { return judged(c, settle(&((Instance *)c)->model)); }
EXPORT fmi2Status fmi2Terminate(fmi2Component c) { (void)c; return fmi2OK; }

EXPORT fmi2Status fmi2Reset(fmi2Component c)
{
    put_at_start(&((Instance *)c)->model);
    return fmi2OK;
}

EXPORT fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference r[], size_t n, fmi2Real value[])
{
    Instance *own = c;
    size_t k;
    for (k = 0; k < n; ++k)
        if (!read_value(&own->model, r[k], &value[k])) return failed(own, own->model.said);
    return fmi2OK;
}

EXPORT fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference r[], size_t n, const fmi2Real value[])
{
    Instance *own = c;
    size_t k;
    for (k = 0; k < n; ++k)
        if (!write_value(&own->model, r[k], value[k])) return failed(own, own->model.said);
    return fmi2OK;
}

#define NO_VALUES(kind, type) \
    EXPORT fmi2Status fmi2Get##kind(fmi2Component c, const fmi2ValueReference r[], size_t n, type value[]) \
    { (void)r; (void)value; return n ? failed(c, "all variables are real") : fmi2OK; } \
    EXPORT fmi2Status fmi2Set##kind(fmi2Component c, const fmi2ValueReference r[], size_t n, const type value[]) \
    { (void)r; (void)value; return n ? failed(c, "all variables are real") : fmi2OK; }
NO_VALUES(Integer, fmi2Integer)
NO_VALUES(Boolean, fmi2Boolean)
NO_VALUES(String, fmi2String)

EXPORT fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *kept)
{
    if (!*kept) *kept = malloc(sizeof(Snapshot));
    if (!*kept) return failed(c, "no memory is left");
    memcpy(*kept, &((Instance *)c)->model.now, sizeof(Snapshot));
    return fmi2OK;
}

EXPORT fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate kept)
{
    Model *m = &((Instance *)c)->model;
    memcpy(&m->now, kept, sizeof(Snapshot));
    forget(m);
    return fmi2OK;
}

EXPORT fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *kept)
{
    (void)c;
    free(*kept);
    *kept = NULL;
    return fmi2OK;
}

EXPORT fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate kept, size_t *size)
{
    (void)c; (void)kept;
    *size = sizeof(Snapshot);
    return fmi2OK;
}

EXPORT fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate kept, fmi2Byte bytes[], size_t size)
{
    if (size < sizeof(Snapshot)) return failed(c, "the place for the state is too small");
    memcpy(bytes, kept, sizeof(Snapshot));
    return fmi2OK;
}

EXPORT fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte bytes[], size_t size, fmi2FMUstate *kept)
{
    if (size != sizeof(Snapshot)) return failed(c, "these bytes are not a state of this model");
    if (!*kept) *kept = malloc(sizeof(Snapshot));
    if (!*kept) return failed(c, "no memory is left");
    memcpy(*kept, bytes, size);
    return fmi2OK;
}

EXPORT fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference unknown[], size_t n,
                                               const fmi2ValueReference known[], size_t k, const fmi2Real by[],
                                               fmi2Real value[])
{
    (void)unknown; (void)n; (void)known; (void)k; (void)by; (void)value;
    return failed(c, "directional derivatives are not offered");
}

/* Model exchange */

EXPORT fmi2Status fmi2EnterEventMode(fmi2Component c) { (void)c; return fmi2OK; }
EXPORT fmi2Status fmi2EnterContinuousTimeMode(fmi2Component c) { (void)c; return fmi2OK; }

EXPORT fmi2Status fmi2NewDiscreteStates(fmi2Component c, fmi2EventInfo *info)
{
    Model *m = &((Instance *)c)->model;
    double next;
    memset(info, 0, sizeof *info);
    info->valuesOfContinuousStatesChanged = act(m);
    next = next_event(m);
    info->nextEventTimeDefined = next < HUGE_VAL;
    info->nextEventTime = info->nextEventTimeDefined ? next : 0.0;
    return fmi2OK;
}

EXPORT fmi2Status fmi2CompletedIntegratorStep(fmi2Component c, fmi2Boolean no_return, fmi2Boolean *enter_event,
                                              fmi2Boolean *terminate)
{
    (void)no_return;
    *enter_event = 0;
    *terminate = ((Instance *)c)->model.now.time > SPAN_END + ROUNDING;
    return fmi2OK;
}

EXPORT fmi2Status fmi2SetTime(fmi2Component c, fmi2Real time)
{
    ((Instance *)c)->model.now.time = time;
    forget(&((Instance *)c)->model);
    return fmi2OK;
}

EXPORT fmi2Status fmi2SetContinuousStates(fmi2Component c, const fmi2Real x[], size_t n)
{
    if (n != STATES) return failed(c, "the number of states is another one");
    memcpy(((Instance *)c)->model.now.state, x, n * sizeof(double));
    forget(&((Instance *)c)->model);
    return fmi2OK;
}

EXPORT fmi2Status fmi2GetContinuousStates(fmi2Component c, fmi2Real x[], size_t n)
{
    if (n != STATES) return failed(c, "the number of states is another one");
    memcpy(x, ((Instance *)c)->model.now.state, n * sizeof(double));
    return fmi2OK;
}

EXPORT fmi2Status fmi2GetDerivatives(fmi2Component c, fmi2Real rates[], size_t n)
{
    Instance *own = c;
    if (n != STATES) return failed(c, "the number of states is another one");
    if (!know_rates(&own->model)) return failed(c, own->model.said);
    memcpy(rates, own->model.rates, n * sizeof(double));
    return fmi2OK;
}

EXPORT fmi2Status fmi2GetNominalsOfContinuousStates(fmi2Component c, fmi2Real x[], size_t n)
{
    size_t k;
    (void)c;
    for (k = 0; k < n; ++k) x[k] = 1.0;
    return fmi2OK;
}

EXPORT fmi2Status fmi2GetEventIndicators(fmi2Component c, fmi2Real indicators[], size_t n)
{
    if (n != SWITCHES) return failed(c, "the number of event indicators is another one");
    read_switches(&((Instance *)c)->model, indicators);
    return fmi2OK;
}

/* Co-simulation */

EXPORT fmi2Status fmi2DoStep(fmi2Component c, fmi2Real time, fmi2Real step, fmi2Boolean no_return)
{
    Instance *own = c;
    (void)no_return;
    own->model.now.time = time;
    return judged(own, advance(&own->model, time + step));
}

EXPORT fmi2Status fmi2CancelStep(fmi2Component c) { return failed(c, "no step is pending"); }

EXPORT fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference r[], size_t n,
                                              const fmi2Integer order[], const fmi2Real value[])
{
    (void)r; (void)order; (void)value;
    return n ? failed(c, "inputs are constant during a step") : fmi2OK;
}

EXPORT fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference r[], size_t n,
                                               const fmi2Integer order[], fmi2Real value[])
{
    (void)r; (void)order; (void)value;
    return n ? failed(c, "derivatives of outputs are not offered") : fmi2OK;
}

EXPORT fmi2Status fmi2GetStatus(fmi2Component c, fmi2StatusKind kind, fmi2Status *value)
{
    (void)c; (void)kind;
    *value = fmi2OK;
    return fmi2OK;
}

EXPORT fmi2Status fmi2GetRealStatus(fmi2Component c, fmi2StatusKind kind, fmi2Real *value)
{
    *value = ((Instance *)c)->model.now.time;
    return kind == fmi2LastSuccessfulTime ? fmi2OK : fmi2Discard;
}

EXPORT fmi2Status fmi2GetIntegerStatus(fmi2Component c, fmi2StatusKind kind, fmi2Integer *value)
{
    (void)c; (void)kind; (void)value;
    return fmi2Discard;
}

EXPORT fmi2Status fmi2GetBooleanStatus(fmi2Component c, fmi2StatusKind kind, fmi2Boolean *value)
{
    (void)c;
    *value = 0;
    return kind == fmi2Terminated ? fmi2OK : fmi2Discard;
}

EXPORT fmi2Status fmi2GetStringStatus(fmi2Component c, fmi2StatusKind kind, fmi2String *value)
{
    (void)c; (void)kind; (void)value;
    return fmi2Discard;
}
