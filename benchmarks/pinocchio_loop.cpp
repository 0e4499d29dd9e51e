// Pinocchio's algorithms in a loop of C++: what they cost without the price of a call from Python.
// Usage: pinocchio_loop MODEL.txt STATES.bin COUNT ROUNDS; the states are q, v and a of each, doubles one after the other.
// Prints a line for each algorithm: its name, nanoseconds per call (the best round), and the sum of one result.

#include <ctime>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <vector>

#include <pinocchio/multibody.hpp>
#include <pinocchio/serialization.hpp>
#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>
#include <pinocchio/algorithm/rnea.hpp>

using Eigen::MatrixXd;
using Eigen::VectorXd;

static double seconds()
{
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

template <typename Call> static void measure(const char *name, long count, int rounds, Call call)
{
    double best = 1e9, sum = 0.0;
    for (int round = 0; round < rounds + 1; ++round) {
        const double begin = seconds();
        for (long k = 0; k < count; ++k) sum = call(k);
        const double taken = seconds() - begin;
        if (round && taken < best) best = taken;  // the first round warms the caches
    }
    std::printf("%s %.17g %.17g\n", name, 1e9 * best / count, sum);
}

int main(int argc, char **argv)
{
    if (argc != 5) return 2;
    pinocchio::Model model;
    model.loadFromText(argv[1]);
    pinocchio::Data data(model);
    const long count = std::atol(argv[3]);
    const int rounds = std::atoi(argv[4]);
    std::ifstream file(argv[2], std::ios::binary);
    std::vector<VectorXd> q(count, VectorXd(model.nq)), v(count, VectorXd(model.nv)), a(count, VectorXd(model.nv));
    for (long k = 0; k < count; ++k)
        for (VectorXd *x : {&q[k], &v[k], &a[k]}) file.read(reinterpret_cast<char *>(x->data()), 8 * x->size());
    if (!file) return 3;
    measure("rnea", count, rounds, [&](long k) { return pinocchio::rnea(model, data, q[k], v[k], a[k]).sum(); });
    measure("aba", count, rounds, [&](long k) { return pinocchio::aba(model, data, q[k], v[k], a[k]).sum(); });
    measure("crba", count, rounds, [&](long k) { return pinocchio::crba(model, data, q[k])(0, 0); });
    measure("computeRNEADerivatives", count, rounds, [&](long k) {
        pinocchio::computeRNEADerivatives(model, data, q[k], v[k], a[k]);
        return data.dtau_dq(0, 0);
    });
    measure("computeABADerivatives", count, rounds, [&](long k) {
        pinocchio::computeABADerivatives(model, data, q[k], v[k], a[k]);
        return data.ddq_dq(0, 0);
    });
    return 0;
}
