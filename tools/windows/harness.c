/* Loads what objects.py wrote, through the llvmlite.dll of PyPI's wheel, and calls it as Python for Windows would.
 *
 * There is no Python here: objects that look like its arrays, and functions in the place of its own, are made below.
 * What is checked is that the code loads, that it follows the calling conventions of Windows in both directions, and
 * that all results have the bits that Linux gets: batches of many lengths, one state, a worker thread.
 *
 * harness FOLDER TRIPLE RELOCATIONS CODE_MODEL [far]
 *
 * "far" leaves no room near the program, so that code and constants come to lie more than 2 GB apart.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

typedef struct { uint8_t kind; const char *value; size_t length; } Element; /* of llvmlite's linker; 2: object file */
typedef struct { const char *name; uint64_t address; } Symbol;

static void *jit;
static void *(*link_library)(void *, const char *, Element *, size_t, Symbol *, size_t, Symbol *, size_t, const char **);
static const char *folder;
static int failures;

static void check(bool right, const char *what, const char *name) {
    if (!right) printf("WRONG: %s of %s\n", what, name);
    failures += !right;
}

static void fail(const char *what, const char *why) {
    printf("FAILED: %s: %s\n", what, why ? why : "?");
    exit(1);
}

static void *contents(const char *name, const char *ending, size_t *length) {
    char path[500];
    snprintf(path, sizeof path, "%s/%s%s", folder, name, ending);
    FILE *file = fopen(path, "rb");
    if (!file) fail(path, "cannot be read");
    fseek(file, 0, SEEK_END);
    *length = ftell(file);
    rewind(file);
    char *data = calloc(*length + 1, 1);
    if (fread(data, 1, *length, file) != *length) fail(path, "cannot be read");
    fclose(file);
    return data;
}

/* Functions of CPython and NumPy that the code calls. */

typedef struct {
    int64_t references;
    void *type, *data;
    int dimensions, padding;
    int64_t *shape, *strides;
    void *base, *number_type;
    int flags, more_padding;
} Array;

static char array_type[8], float64[8], function[8], answer[8];
static int released, unusual;

static int acquire_lock(void *lock, int wait) { return !WaitForSingleObject(lock, wait ? INFINITE : 0); }
static void release_lock(void *lock) { ReleaseSemaphore(lock, 1, NULL); }
static void drop(void *object) { (void)object; }
static void *release(void) { return released++, &released; }
static void retake(void *state) { check(state == &released && --released == 0, "state", "retake"); }

static void *call_python(void *called, void **arguments, int64_t count, void *names) {
    check(called == function && arguments && count && !names, "arguments", "vectorcall");
    return unusual++, answer;
}

static void *new_array(void *type, int dimensions, int64_t *shape, int number, void *strides, void *data, int size,
                       int flags, void *object) {
    check(type == array_type && number == 12 && !strides && !data && !size && !flags && !object, "arguments", "PyArray_New");
    Array *array = calloc(1, sizeof *array);
    int64_t bytes = 8;
    for (int k = 0; k < dimensions; k++) bytes *= shape[k];
    *array = (Array){1, type, malloc(bytes), dimensions, 0, NULL, NULL, NULL, float64, 0x501, 0};
    return array;
}

static void give_back(Array *array) {
    free(array->data);
    free(array);
}

static void load(const char *name, const char *ending, int count, const char **names, uint64_t *addresses) {
    static int number;
    Symbol given[] = {{"PyMem_RawMalloc", (uint64_t)malloc}, {"PyMem_RawFree", (uint64_t)free},
                      {"Py_IncRef", (uint64_t)drop}, {"Py_DecRef", (uint64_t)drop},
                      {"PyThread_acquire_lock", (uint64_t)acquire_lock}, {"PyThread_release_lock", (uint64_t)release_lock}};
    Symbol wanted[2] = {{names[0], 0}, {names[count - 1], 0}};
    Element object = {2, NULL, 0};
    char library[30];
    const char *error = NULL;
    object.value = contents(name, ending, &object.length);
    snprintf(library, sizeof library, "kinetree%d", ++number);
    if (!link_library(jit, library, &object, 1, given, 6, wanted, count, &error)) fail(name, error);
    for (int k = 0; k < count; k++) addresses[k] = wanted[k].address;
}

static void start_llvm(const char *triple, const char *relocations, const char *code_model) {
    HMODULE dll = LoadLibraryA("llvmlite.dll");
    if (!dll) fail("llvmlite.dll", "cannot be loaded");
    ((void (*)(void))GetProcAddress(dll, "LLVMPY_InitializeNativeTarget"))();
    ((void (*)(void))GetProcAddress(dll, "LLVMPY_InitializeNativeAsmPrinter"))();
    link_library = (void *)GetProcAddress(dll, "LLVMPY_LLJIT_Link");
    void *(*find)(const char *, const char **) = (void *)GetProcAddress(dll, "LLVMPY_GetTargetFromTriple");
    void *(*machine)(void *, const char *, const char *, const char *, int, const char *, const char *, int, int,
                     const char *) = (void *)GetProcAddress(dll, "LLVMPY_CreateTargetMachine");
    void *(*create)(void *, bool, bool, const char **) = (void *)GetProcAddress(dll, "LLVMPY_CreateLLJITCompiler");
    const char *error = NULL;
    void *found = find(triple, &error);
    if (!found) fail(triple, error);
    void *target = machine(found, triple, "x86-64-v3", "", 2, relocations, code_model, 0, 0, "");
    if (!create(target, false, true, &error)) printf("LLVM's newer linker: %s\n", error);
    if (!(jit = create(target, false, false, &error))) fail("LLVM", error);
}

static void leave_no_room(void) {
    void *gap = VirtualAlloc(NULL, 64 << 10, MEM_RESERVE, PAGE_NOACCESS), *found;
    for (size_t size = (size_t)1 << 30; size >= 64 << 10; size /= 2)
        while ((found = VirtualAlloc(NULL, size, MEM_RESERVE, PAGE_NOACCESS)))
            if ((uint64_t)found >> 34) { VirtualFree(found, 0, MEM_RELEASE); break; }
    VirtualFree(gap, 0, MEM_RELEASE); /* the only room below 16 GB */
}

static struct { void (*work)(void *, void *); char *pool; } worker;
static DWORD WINAPI work(void *nothing) { return worker.work(worker.pool, worker.pool + 192), !nothing; }

int main(int count, char **arguments) {
    setvbuf(stdout, NULL, _IONBF, 0);
    folder = arguments[1];
    start_llvm(arguments[2], arguments[3], arguments[4]);
    if (count > 5) leave_no_room();
    uint64_t driver[2], threads[2], entry[1], lanes_code[2], one_code[1];
    load("driver", ".o", 2, (const char *[]){"drive", "run"}, driver);
    load("threads", ".o", 2, (const char *[]){"run_shared", "work"}, threads);
    load("entry", ".o", 1, (const char *[]){"enter"}, entry);
    Array *(*enter)(void *, void *, int64_t, void *) = (void *)entry[0];

    char *block = (char *)(((uint64_t)calloc(1, 1 << 16) + 63) & ~63ull); /* as threads.py lays it out */
    *(void **)(block + 144) = CreateSemaphoreA(NULL, 0, 1, NULL);
    *(void **)(block + 200) = CreateSemaphoreA(NULL, 0, 1, NULL);
    *(uint64_t *)(block + 152) = threads[0];
    *(int64_t *)(block + 16) = 1;
    worker.work = (void *)threads[1], worker.pool = block;
    CreateThread(NULL, 0, work, NULL, 0, NULL);

    size_t length;
    char *list = contents("list", "", &length), name[100];
    double *states = contents("states", "", &length);
    int64_t total, n, inputs, size, scratch, tile, second, together_size;
    int used;
    sscanf(list, "%lld %lld\n%n", &total, &n, &used);
    while (sscanf(list += used, "%99s %lld %lld %lld %lld %lld %lld\n%n", name, &inputs, &size, &scratch, &tile, &second,
                  &together_size, &used) == 7) {
        double *expected = contents(name, "", &length);
        load(name, "-lanes.o", 2, (const char *[]){"kernel", "places"}, lanes_code);
        load(name, "-one.o", 1, (const char *[]){"kernel"}, one_code);
        /* the context of vectorcall.py behind a head of 32 bytes */
        int64_t context[] = {0, 0, 0, 0, one_code[0], 0, lanes_code[0], 0, driver[0], driver[1], lanes_code[1], scratch, tile,
            second, together_size, 1, 0, (int64_t)block, size, (int64_t)array_type, (int64_t)float64, (int64_t)function, (int64_t)function,
            (int64_t)call_python, (int64_t)new_array, (int64_t)release, (int64_t)retake, 0, 0, 0, 0, inputs, 1,
            size, 0, 0, n, n, n, 0, 0, 0};
        int64_t shape[] = {total, n}, strides[] = {8 * n, 8};
        Array input[3];
        void *given[3];
        for (int k = 0; k < 3; k++) {
            input[k] = (Array){1, array_type, states + k * total * n, 2, 0, shape, strides, NULL, float64, 0x501, 0};
            given[k] = &input[k];
        }
        for (int64_t states_now = 1; states_now; states_now = states_now == total ? 0 : states_now < 40 ? states_now + 1 : total) {
            shape[0] = states_now;
            Array *result = enter(context, given, inputs, NULL);
            check(result && !memcmp(result->data, expected, states_now * size * 8), "a batch", name);
            give_back(result);
        }
        for (int k = 0; k < 3; k++) input[k].dimensions = 1, input[k].shape = shape + 1, input[k].strides = strides + 1;
        Array *result = enter(context, given, inputs, NULL);
        check(result && result->dimensions == 1 && !memcmp(result->data, expected, size * 8), "one state", name);
        give_back(result);
        input[0].flags = 0; /* not aligned: Python should see to it */
        int before = unusual;
        check((void *)enter(context, given, inputs, NULL) == answer && unusual == before + 1, "an unusual call", name);

        double *together = calloc(total * size, 8);
        char *area = (char *)(((uint64_t)malloc(scratch + 64) + 63) & ~63ull);
        int64_t job[15 + 9] = {lanes_code[0], 0, (int64_t)together, (int64_t)area, size, 0, total, inputs, 0, lanes_code[1], 0,
                               scratch, second, 1, 0};
        for (int k = 0; k < inputs; k++)
            job[15 + k] = (int64_t)input[k].data, job[15 + inputs + k] = n, job[15 + 2 * inputs + k] = n;
        int64_t (*run_shared)(void *, void *, void *, int64_t, int64_t) = (void *)threads[0];
        for (int k = 0; k < 50; k++) {
            if (k % 10 == 0) Sleep(5); /* the worker falls asleep */
            memset(together, 0, total * size * 8);
            run_shared(block, job, (void *)driver[1], 1, together_size);
            check(!memcmp(together, expected, total * size * 8), "a batch with a worker", name);
        }
        free(together);
        printf("%s: code at %llx and %llx\n", name, lanes_code[0], one_code[0]);
    }
    puts(failures ? "there were failures" : "all results have the bits of Linux");
    ExitProcess(failures != 0);
}
