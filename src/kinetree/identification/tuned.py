"""The tuned constants of identification: what each decides, and its value.

If a value was measured, its line says how; the others are judgments, backed by the simulated and
real motions of ``tests/identification``.
"""

# ------------------------------------------------------------------ samples and clocks

GAP = 20.0
"""Pauses of more than this many steps part the data into pieces: nobody knows what happened in between."""
LOST = 3
"""Rows with NaN, one after the other, beyond which the data are parted, too."""
STALE = 0.5
"""Share of repeated rows beyond which it is the robot that stands still, or a slower sensor, and not the network."""
ON_CLOCK = 0.98
"""Share of steps that must be whole periods for the sender's clock to be believed."""
LEAST_SAMPLES = 50
"""Fewer rows tell nothing about frequencies."""

# ------------------------------------------------------------------ filters and derivatives

RISES_AGAIN = 3.0
"""By how much the spectrum of the accelerations must rise behind its valley for what follows to be noise."""
STANDS_OUT = 0.01
"""Share of the largest power density of the velocities, in a part of an octave, which noise does not reach."""
SAMPLED_WELL = 0.4
"""Share of half the sampling frequency up to which a line of the spectrum is believed to be a motion."""
OF_POWER = 1e-5
"""Share of the power of the velocities that is given up at most."""
LEAST_MOTION = 0.02
"""Joints that move less than this, compared with the one that moves most, have no say."""
PER_OCTAVE = 6
"""Into how many parts an octave of the spectrum is divided."""
MOTION_FILTER, BOTH_SIDES = 6.0, 3.0
"""Cutoffs of the two filters, as multiples of the highest frequency of the motion."""
LEAST_LAG, LONGEST_LAG = 1e-3, 0.1
"""Seconds between which a lag of velocities is believed."""
LAGS_ALIKE, LAG_LEAVES = 0.25, 0.5
"""Share by which lags of three joints or more may differ, or else share of the squares of what velocities are off by
that a lag may leave, for it to be believed."""
ORDER = 4
"""Of the Butterworth filters."""
LEAST_KEPT = 100
"""How many samples the filter of both sides should leave of short motions."""
NARROW = 16
"""Columns up to which windows go along them rather than over all at once, which is quicker for few."""
WHITE = 1.1
"""Cutoff of the second filter, over half the rate of what is kept, at which kept samples of noise are uncorrelated."""
FEWEST = 12
"""Samples below which nothing can be told from noise."""
COLORED = 1.0
"""Share of the accelerations that may be above the frequencies of the motion; else noise is no longer white."""
ABOVE_VALLEY = 3.0
"""How far above the valley of the spectrum accelerations are taken for those of noise that is not white."""
PER_PERIOD = 16
"""Means per period of the fastest motion, where neighboring samples have the same noise."""
NOISE_OF_QUATERNIONS = 0.1
"""By how much measured quaternions may differ from unit ones."""
INSTANT = 1e-3
"""Within what share of a period differences stand for derivatives, where coordinates turn with what they describe."""
END_WINDOW, END_DEGREE = 1.0, 4
"""How long the ends of a motion are looked at, over one by the cutoff; and of which degree a polynomial fits them."""
UNEVEN = 20.0
"""The longest pause between two samples, in steps: nobody knows what happened in a longer one."""
DEGREE = 5
"""Of the splines: their accelerations have two continuous derivatives."""
ORDERS = (3, 4, 5)
"""Derivatives that may be the ones which are white noise: jerk, as where accelerations jump, and smoother ones."""
FEWEST_KNOTS = 16
"""Intervals of a spline, at least."""
PER_KNOT = 0.12
"""Cutoff times the distance of knots at which these are fine enough not to matter."""
FELT_COEFFICIENTS = 120
"""Of how many coefficients at most a deviation is felt: correlations die out within some knots."""

# ------------------------------------------------------------------ equations and fits

BLOCK = 4096
"""Samples of which the regressor is computed at once."""
FAST, OFTEN = 5.0, 0.02
"""Standard deviations of noise beyond which a velocity is one, and share of samples that have such of what moves."""
PART = 0.05
"""Of a joint's force in a row, beside the one that has most, below which it does not matter whether the joint rests."""
TILE_BYTES = 3 << 19
"""Of a regressor that is computed at once: it stays in the processor's cache."""
LEAST_TILE = 128
"""Samples of a tile at least: the fewer, the more time goes into calls."""
NARROW = 8
"""Columns that are reflected together: few, so that a tile's products are too small for BLAS to wake its threads."""
RANK_TOLERANCE = 1e-10
"""Directions whose singular value is smaller than this, compared with the largest, are not told by the samples."""
CANCELED = 1e-12
"""Columns this much shorter than what they are combined of are rounding errors."""
FIRST_ROUNDS, MOST_ROUNDS = 5, 30
"""Rounds of weighing by noise with robust weights, and at most."""
NOISE_SETTLED = 1e-7
"""Share by which the noise of joints may still change between rounds that have settled."""
EXACT = 1e-10
"""Noise over the size of a joint's force below which a fit is exact; else a few rows with as many columns of their own
would count without end."""
UNTOLD = 1e-9
"""Directions whose singular value is smaller than this, compared with the largest, are not told by the rows."""
HUBER = 1.345
"""Residuals beyond so many standard deviations count less: 95 % as good as least squares where nothing is wrong."""
NEWTON_STEPS = 400
"""Steps of Newton's method, and of Levenberg and Marquardt's, before a fit is given up."""
WEAKER, BARRIER_WEAKER = 0.3, 0.15
"""What pull and barrier are multiplied with from one round of steps to the next: longer ways need more steps in all."""
NEGLIGIBLE = 1e-4
"""Share of what a fit leaves that further steps may still gain when they are given up."""
LAST_BARRIER = 1e-6
"""Weight of the barrier at the end, over what a fit leaves."""
FAINT = 1e-5
"""Pull of what belongs to no body, over the size of its column: it decides between columns that are told together only,
such as the offsets of two joints with a gear between them, and moves what is told by 1e-10 of it."""
IDLE = 1e-12
"""Size of a column, over the largest, below which no row depends on it."""
LONGEST_STEP, SMALLEST_COORDINATE = 1.0, -1e3
"""Bounds on a step in log-Cholesky coordinates, and on the coordinates: logarithms must not run away."""
CANDIDATES = 20
"""Configurations of a motion from which the least singular is taken, to look around there."""
NOTHING_KNOWN = 0.1
"""How much weaker that pull is: it only decides what the motion does not tell."""
HELD_WEIGHT = 0.3
"""Share of a robot's weight that must be held by something, if the robot does not fall."""

# ------------------------------------------------------------------ friction, springs and gains

NOISE = 3.0
"""Velocities below so many standard deviations of their noise have no sign."""
TURNED_BACK = 2.0
"""Standard deviations of noise by which a joint that slowed down is not seen to go backwards before it goes on."""
FOLDS = 5
"""Parts of the data, each predicted by fits to the others."""
CLEAR = 0.02
"""Share by which a joint's error must fall for a model with more to it."""
NOISELESS = 1e-4
"""Share of a joint's force below which errors are no measurement's: rounding would decide between models."""
FITS = 0.04
"""Share by which a spring or a slow damper must lower what is left of the forces in all data.  Of 32 simulated motions
without any, those that predicted better by chance lowered it by 0.03 at most; of a real arm that has some, by 0.06."""
SWEEPS, FIT_ROUNDS = 2, 5
"""Passes over all joints when shapes of friction are chosen, and rounds of weighing in each fit."""
RIDGE = 1e-11
"""Added to the diagonal of products of columns of unit size, against rounding."""
TIMES = (0.1, 0.1)
"""Times in seconds around which dampers are looked for that follow slowly; one that takes longer is a spring."""
CHOICE_ROUNDS, TIMES_SETTLED = 3, 0.05
"""Models and times of friction are chosen so many times at most, until times change by no more than that share."""
SEEN, WELL_WITHIN = 0.01, 0.5
"""Shares of a joint's speed between which Stribeck's friction fades: of one that fades sooner hardly a sample is seen,
and one that fades later bends viscous friction."""
SURE = 3.0
"""Standard deviations above zero at which a stiffness, a gain or a correction is believed."""
STEPS_PER_DECADE = 4
"""Steps per decade of the search for a shape."""
FURTHER = 10.0
"""Factor by which the search for a shape goes beyond the values that it begins from, both ways."""
FOUND = 0.999 * FURTHER
"""Factor within which a number was found, and is not where the search for it ends."""
AT_ONCE = 1.5 / FURTHER
"""Share of the least travel to begin from below which friction builds up at once: where the search for it ends."""
LEAST_CORRECTION = 0.01
"""Share by which a force must differ to be believed."""
GAIN_ROUNDS, GAINS_SETTLED = 4, 1e-3
"""What bodies need is found anew with corrected forces, so many times at most, until so little changes."""

# ------------------------------------------------------------------ simulations

MOST_SIMULATIONS = 15
"""Simulations, each with the parameters of the fit before, until they settle."""
PARAMETERS_SETTLED = 0.02
"""Share of a standard deviation by which parameters still change between simulations that have settled."""
WINDOW_LENGTH, LEAD = 1.0, 0.25
"""Length of a window in seconds, and of the part before it that does not count."""
SLOW = 0.02
"""Coulomb friction goes through zero in a straight line below this share of a joint's usual speed."""
STABLE = 1.5
"""Steps times the fastest rate that Runge-Kutta's method is given; it stands 2.7."""
MOST_SUBSTEPS = 64
"""Parts of a step of a simulation, at most."""
OUTPUT_SETTLED = 1e-6
"""Share of the output error below which a step gains nothing."""

# ------------------------------------------------------------------ motions to measure, and loads

SMOOTH_SIGN = 0.05
"""Share of a joint's largest speed below which Coulomb friction is smooth while motions are looked for."""
PENALTIES = (3.0, 30.0, 300.0)
"""Of leaving the limits, one after the other: first the way, then the walls."""
ROOM = 0.98
"""Share of a limit that is used, so that motions between two samples keep to it, too."""
NOT_THE_LOAD, DOUBTFUL_LOAD = 0.5, 0.15
"""Shares of a load's forces that currents leave unexplained, beyond which it is not the load, or may not be."""
DENSITY = 3000.0
"""Of what robots carry, in kg/m^3: between plastics and steel, for a first guess of its inertia."""

# ------------------------------------------------------------------ doubts about samples and results

NEAR_RATIO = 1.15
"""Factor within which such a ratio is recognized."""
TURNS_IN_DEGREES = 3.0
"""Turns beyond which positions are no radians, if most joints go so far, and none keeps to its limits."""
BEYOND_LIMITS, MARGIN = 1.5, 0.2
"""How far beyond its limits, as a multiple and in rad on top, no measured joint is."""
MOVES = 0.05
"""Joints that stay so near to zero, in rad, tell nothing about units."""
SLOWEST = 0.25
"""Steps of time, in seconds, that no controller has."""
STUCK_FOR, FREED_BY = 0.1, 5.0
"""Seconds for which a position does not change, and with how many times its usual largest step it goes on then."""
BRAKES_WITHIN, BREAKS_BY = 0.025, 1.5
"""Seconds over which changes of speed are compared, and how many times the largest elsewhere one is at a stuck end."""
LEAST_TURNS = 3
"""How often half of the joints must turn back: of less, weight, friction and offset look alike."""
LONGEST_DELAY, DELAYS = 0.2, 81
"""Delays that are looked for, in seconds both ways, and how many of them."""
FINER_DELAYS, LEAST_DELAY = 11, 5e-4
"""Delays that are tried around the best of these, and the shortest one, in seconds, that is told."""
LATE, EARLY = 0.8, 0.5
"""Share of what is left without a delay that one of forces, or of positions, must leave at most to be believed.

Joints that stick look as if positions came late: forces grow before anything moves.
"""
MIXED_UP = 0.1
"""Relative error beyond which some joint's column may be another's, or have the wrong sign."""
TURNED = 0.03
"""Relative error beyond which some joint's zero may be another one."""
TRIED_ROWS, AVERAGED = 400, 25
"""Groups of samples by which exchanged columns are judged, and how many samples are averaged in each, against noise."""
UNMIXED = 0.5
"""Share of what is left that exchanged columns must leave at most to be believed."""
FASTER = 0.05
"""Share of a joint's largest speed beyond which its friction has a sign."""
ZEROS = (90, 180, -90)
"""Degrees by which zeros of joints differ, where makers of robots and of files do not agree."""
NOT_EXPLAINED = 0.5
"""Relative error beyond which a joint's force is not explained."""
SURE_SIGN = 5.0
"""Standard deviations beyond which a sign is not chance."""
MOSTLY = 2.0 / 3.0
"""Share of parameters with large deviations beyond which a motion tells hardly anything."""
PLAUSIBLE = 4.0
"""Factor between what was found and the file's that other masses may explain."""
TOLD = 20.0
"""Size of the file's loads over their noise from which such a factor is told."""
ALIKE, SEVERAL, COMMON = 0.1, 6, 1.5
"""Share of the loads up to which all are the file's but for a common factor, combinations of a robot beyond which that
is no chance, and the factor beyond which it is said."""
PLAUSIBLE_WEIGHT = 3.0
"""Factor between the mass that measured wrenches hold up and the file's that other masses may explain."""
LAGS = 20
"""Steps over which residuals are correlated with those before."""
POOR = 0.3
"""Relative standard deviation beyond which a parameter is poorly told."""
